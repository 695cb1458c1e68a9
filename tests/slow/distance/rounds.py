"""One round of averaging at a distance, on real sockets: trainings in processes, and a ring of ranks in threads."""

import socket
import threading
import time
from contextlib import ExitStack
from functools import partial

import torch

from course.distance import Link
from course.replicas.ring import ring_all_reduce
from course.training import mnist, paced, train

WORKERS, ROUNDS = 3, 8
COMPUTE = 0.020  # seconds of a gradient
VALUES = sum(value.numel() for value in mnist().initial().values())
SGD = partial(torch.optim.SGD, lr=0.1)


def row(design, delay, bandwidth, seconds, workers=WORKERS):
    """Return a figure as `course.distance.recorded.Far` has it."""
    return {
        "design": design,
        "workers": workers,
        "delay": delay,
        "bandwidth": bandwidth,
        "compute": COMPUTE,
        "nbytes": 4 * VALUES,
        "seconds": round(seconds, 5),
    }


def trained(cluster, mode, workers, rounds, delay, bandwidth):
    """Return the median seconds of a round on the ps tasks of `cluster`; each server has a line of its own."""
    lines = {}
    with ExitStack() as opened:

        def route(address):
            if address not in lines:
                lines[address] = opened.enter_context(Link(delay, bandwidth))
            return lines[address].to(address)

        steps = rounds if mode == "sync" else rounds * workers
        settings = {"optimizer": SGD, "mode": mode, "workers": workers, "total_steps": steps}
        result = train(paced(mnist(), COMPUTE), cluster, routes=dict.fromkeys(range(workers), route), **settings)
    ends = result.of_worker(0)["applied"]
    return float(torch.tensor(ends).diff().median())


def ring(workers, rounds, delay, bandwidth):
    """Return the mean seconds of a round in a ring of ranks, each with a line of its own to the next.

    Of all rounds together: one of them may be quicker for a rank that was late in the round before, as others were not.
    """
    with ExitStack() as opened:
        listening = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(workers)]
        lines = [opened.enter_context(Link(delay, bandwidth)) for _ in range(workers)]
        onward = [lines[rank].to(listening[(rank + 1) % workers].getsockname()[:2]) for rank in range(workers)]
        to_next = [opened.enter_context(socket.create_connection(address, 10)) for address in onward]
        from_last = [opened.enter_context(server.accept()[0]) for server in listening]

        def rank(number):
            reading = from_last[number].makefile("rb")
            values = torch.ones(VALUES)

            def give(piece):
                to_next[number].sendall(piece.numpy().tobytes())

            def take(like):
                return torch.frombuffer(bytearray(reading.read(like.nbytes)), dtype=like.dtype)

            for _ in range(rounds):
                time.sleep(COMPUTE)
                ring_all_reduce(values, number, workers, give, take)

        threads = [threading.Thread(target=rank, args=(number,)) for number in range(workers)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (time.monotonic() - began) / rounds


def least(design, workers, delay):
    """Return the seconds that no round can be quicker than: what computes, and the ways one after another."""
    return COMPUTE + (2 * (workers - 1) if design == "ring" else 2) * delay
