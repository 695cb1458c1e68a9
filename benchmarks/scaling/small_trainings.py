"""Small real trainings for the simulation of large ones: seconds a gradient, by design, workers, shards and size."""

import os
import time
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.topics.replicas import by_ring
from course.cluster import local_cluster
from course.replicas import run_ranks
from course.training import batch_generator, mnist, train

_SECONDS = 0.35  # of one training: many short ones, interleaved, beat a long one


@dataclass(frozen=True)
class Measured:
    """A real training: `design`, `workers`, `shards` (0: no server), `nbytes` of a gradient, `seconds` of one."""

    design: str
    workers: int
    shards: int
    nbytes: int
    seconds: float


def computing(sizes, processes):
    """Return, by bytes and by number of processes at once, the seconds of a core that gradients of the digits take.

    Each process computes one, then lets the next have its core: of more processes than cores each comes back to caches
    that others have filled.
    """
    with local_cluster(worker=max(processes)) as cluster:
        return {
            nbytes(hidden): {n: np.concatenate(run_ranks(_computing, cluster, hidden, workers=n)) for n in processes}
            for hidden in sizes
        }


def _computing(rank, size, hidden, gradients=60):
    torch.set_num_threads(1)
    problem, found, generator = mnist(hidden=hidden), [], torch.Generator()
    leaves = {name: value.requires_grad_() for name, value in problem.initial().items()}
    into = [torch.empty_like(value) for value in leaves.values()]
    for version in range(gradients + 20):
        if version == 20:
            torch.distributed.barrier()
        started = time.thread_time()
        batch = problem.batch(rank, version, batch_generator(0, rank, version, generator))
        for output, gradient in zip(
            into, torch.autograd.grad(problem.loss(leaves, batch), [*leaves.values()]), strict=True
        ):
            output.copy_(gradient)
        found.append(time.thread_time() - started)
        os.sched_yield()
    return found[20:]


def nbytes(hidden):
    """Return the bytes of a gradient of the network with so many hidden units."""
    return 4 * (784 * hidden + hidden + 10 * hidden + 10)


def served(shards, sizes, workers, repeats):
    """Yield a `Measured` for both ways on parameter servers: the least over `repeats`, of each run's median."""
    problems = {hidden: mnist(hidden=hidden) for hidden in sizes}
    cases = [(h, mode, n) for h in sizes for mode in ("async", "sync") for n in workers]
    found = {case: [] for case in cases}
    with local_cluster(ps=shards, worker=max(workers)) as cluster:
        for _ in range(repeats):
            for hidden, mode, count in cases:
                guess = min(found[hidden, mode, count], default=100e-9 * nbytes(hidden) ** 0.75 + 400e-6)
                gradients = max(12 * count, round(_SECONDS / guess))
                steps = gradients if mode == "async" else gradients // count
                how = {"optimizer": mnist.TUNED.made(), "mode": mode, "workers": count, "total_steps": steps}
                history = train(problems[hidden], cluster, **how).history
                found[hidden, mode, count].append(_median_seconds(history))
    for (hidden, mode, count), seconds in found.items():
        design = "asynchronous" if mode == "async" else "synchronous"
        yield Measured(design, count, shards, nbytes(hidden), min(seconds))


def _median_seconds(history, windows=8):
    """Return the median, over windows of the run after its first sixth, of the seconds a gradient."""
    updates, gradients = np.unique(history["applied"], return_counts=True)
    updates, gradients = updates[len(updates) // 6 :], gradients[len(updates) // 6 :]
    every = max(1, len(updates) // windows)
    return float(np.median(np.diff(updates[::every]) / (every * np.median(gradients))))


def reduced(sizes, workers, repeats):
    """Yield a `Measured` for ring and tree, whose ranks are the cluster's workers and send by gloo."""
    found = {}
    with local_cluster(worker=max(workers)) as cluster:
        for _ in range(repeats):
            for hidden in sizes:
                for count in workers:
                    for design, seconds in run_ranks(_rounds, cluster, hidden, workers=count)[0]:
                        found.setdefault((design, count, hidden), []).append(seconds / count)
    for (design, count, hidden), seconds in found.items():
        yield Measured(design, count, 0, nbytes(hidden), min(seconds))


def _rounds(rank, size, hidden):
    """Return ("ring", median seconds of a round) and the same of the tree: gradient, sum, a step of descent."""
    problem, generator = mnist(hidden=hidden), torch.Generator()
    leaves = {name: value.requires_grad_() for name, value in problem.initial().items()}
    results = []
    for design, reduce in (("ring", by_ring), ("tree", _tree)):
        ends, until = [time.perf_counter()], None
        while until is None or len(ends) < until:
            batch = problem.batch(rank, len(ends), batch_generator(0, rank, len(ends), generator))
            gradients = torch.autograd.grad(problem.loss(leaves, batch), [*leaves.values()])
            flat = torch.cat([gradient.flatten() for gradient in gradients])
            reduce(flat, rank, size)
            with torch.no_grad():
                for leaf, part in zip(leaves.values(), flat.split([g.numel() for g in gradients]), strict=True):
                    leaf -= 0.5 / size * part.view_as(leaf)
            ends.append(time.perf_counter())
            if len(ends) == 10:  # all ranks agree on how many rounds there will be
                agreed = torch.tensor([_SECONDS / 2 / np.median(np.diff(ends))])
                torch.distributed.broadcast(agreed, 0)
                until = 20 + int(min(agreed.item(), 400))
        every = (len(ends) - 12) // 8
        results.append((design, float(np.median(np.diff(ends[12::every]) / every))))
    return results


def _tree(flat, rank, size):
    children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < size]
    arriving = [(torch.empty_like(flat), child) for child in children]
    receiving = [torch.distributed.irecv(arrived, child) for arrived, child in arriving]
    for (arrived, _), one in zip(arriving, receiving, strict=True):
        one.wait()
        flat += arrived
    if rank:
        parent, total = (rank - 1) // 2, torch.empty_like(flat)
        answer = torch.distributed.irecv(total, parent)
        torch.distributed.send(flat, parent)
        answer.wait()
        flat.copy_(total)
    for sending in [torch.distributed.isend(flat, child) for child in children]:
        sending.wait()
