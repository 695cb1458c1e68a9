"""Replicas: 318 kB of gradients added up over three processes by gloo, by the course's ring, and through one rank."""

import statistics
import time
from contextlib import contextmanager

import torch

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from course.replicas import replicate, ring_all_reduce, run_ranks

_NUMBERS = 79_510  # float32, the digits' network: 318 kB


_REDUCED, _STEP = "318 kB added up over three processes", "A step of 784-100-10, batch of 300"
_NAMES = {"by_ring": "the course's ring", "by_gloo": "gloo's all_reduce", "through_one": "through rank 0 and back"}


def contests(quick, places):
    """Yield the reductions, and a step on one device and on two replicas of it."""
    reduced = (
        Contestant(_NAMES["by_ring"], kind=OURS),
        *(Contestant(_NAMES[one]) for one in ("by_gloo", "through_one")),
    )
    steps = (Contestant("two replicas of one CPU", kind=OURS), Contestant("one device, by replicate", kind=OURS))
    named = (Contest(_REDUCED, "µs", reduced, "less"), Contest(_STEP, "ms", steps, "less"))
    work = Contestant("replicas", f"{__name__}:figures", {"rounds": 100 if quick else 300}, OURS)
    yield Together((work,), named, rounds=1 if quick else 5)


@contextmanager
def figures(rounds):
    """Reduce on the tasks of one cluster; each figure is the median over rounds of the slowest rank."""
    from course.cluster import local_cluster

    with local_cluster(worker=3) as cluster:

        def run():
            each = run_ranks(_microseconds, cluster, (by_gloo, by_ring, through_one), rounds)
            found = {_NAMES[way]: max(rank[way] for rank in each) for way in _NAMES}
            alone, both = _steps()
            return {_REDUCED: found, _STEP: {"one device, by replicate": alone, "two replicas of one CPU": both}}

        yield Work(run, figures=True, warm_ups=0)


def by_gloo(values, rank, size):
    """Add up over the ranks, in place."""
    torch.distributed.all_reduce(values)


def by_ring(values, rank, size):
    """The same by the ring that chapter 07 explains."""
    sent = []
    ring_all_reduce(values, rank, size, lambda piece: sent.append(_send(piece, (rank + 1) % size)), _from(rank, size))
    for sending, _ in sent:
        sending.wait()


def through_one(values, rank, size):
    """The same the naive way: all send to rank 0, which adds up and sends the sum to all."""
    if rank == 0:
        arrived = torch.empty_like(values)
        for other in range(1, size):
            torch.distributed.recv(arrived, other)
            values += arrived
        for other in range(1, size):
            torch.distributed.send(values, other)
    else:
        torch.distributed.send(values, 0)
        torch.distributed.recv(values, 0)


def _send(piece, to):
    copied = piece.clone()  # kept with the sending: the ring goes on and changes the piece
    return torch.distributed.isend(copied, to), copied


def _from(rank, size):
    def take(like):
        arrived = torch.empty_like(like)
        torch.distributed.recv(arrived, (rank - 1) % size)
        return arrived

    return take


def _microseconds(rank, size, ways, rounds):
    """Return {way: its median}, one way after the other: what one leaves behind would be in the next one's way."""
    values, medians = torch.ones(_NUMBERS), {}
    for reduce in ways:
        seconds = []
        for _ in range(rounds):
            values.fill_(1.0)
            torch.distributed.barrier()
            started = time.perf_counter()
            reduce(values, rank, size)
            seconds.append(time.perf_counter() - started)
            if not (values == size).all():
                raise ValueError(f"rank {rank}: the sum is wrong")
        medians[reduce.__name__] = 1e6 * statistics.median(seconds)
    return medians


def _steps():
    """Return the milliseconds of a training step on one CPU and on two replicas of it."""
    inputs, targets = torch.rand(300, 784), torch.arange(300) % 10
    found = []
    for devices in (["/cpu:0"], ["/cpu:0", "/cpu:0"]):
        model = torch.nn.Sequential(torch.nn.Linear(784, 100), torch.nn.Sigmoid(), torch.nn.Linear(100, 10))
        copies, optimizer = replicate(model, devices), torch.optim.SGD(model.parameters(), lr=0.1)
        seconds = []
        for _ in range(50):
            started = time.perf_counter()
            copies.step(optimizer, torch.nn.functional.cross_entropy, inputs, targets)
            seconds.append(time.perf_counter() - started)
        found.append(1e3 * statistics.median(seconds))
    return found
