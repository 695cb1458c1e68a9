"""Between host and device: there, back, and beside work on another stream."""

import torch


def batch_from_pageable(device, part):
    """A batch of 19 MB goes there from ordinary memory, and its mean comes back."""
    batch = torch.rand(128 // part, 3, 112, 112)
    return lambda: batch.to(device).mean().item()


def results_to_host(device, part):
    """16 MB come back to pinned memory."""
    made, host = torch.rand(2**22 // part, device=device), torch.empty(2**22 // part, pin_memory=True)
    return lambda: host.copy_(made)


def overlapped(device, part):
    """Four pinned batches of 8 MB on a stream of their own, each squared while the next is on its way."""
    host = [torch.rand(2**21 // part).pin_memory() for _ in range(4)]
    side = torch.cuda.Stream(device)

    def step():
        now = torch.cuda.current_stream(device)
        side.wait_stream(now)
        for batch in host:
            with torch.cuda.stream(side):
                there = batch.to(device, non_blocking=True)
            now.wait_stream(side)
            there.square_().sum()
            there.record_stream(now)

    return step


PROGRAMS = (batch_from_pageable, results_to_host, overlapped)
