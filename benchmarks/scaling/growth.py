"""How time grows: with the board, the darts, the slices, the parameters, the workers; the power of each step."""

import math
import time
from concurrent.futures import ThreadPoolExecutor

import torch

from benchmarks.scaling.small_trainings import nbytes, served
from course import estimate_pi, life, mean

_REPEATS = 25


def lines():
    """Yield a line a size: milliseconds, and the power p of time ~ size^p since the size before (1: in proportion)."""
    boards = {side * side: _life(side) for side in (64, 256, 1024, 4096)}
    yield from _grown("Life, cells of a board, 16 generations", boards)
    yield from _grown("pi, darts", {darts: _pi(darts) for darts in (10**4, 10**6, 10**8)})
    yield from _grown("mean of 10⁷ numbers, slices on two threads", {count: _mean(count) for count in (1, 4, 64, 1024)})


def lines_of_trainings():
    """Yield the same lines of trainings, by their parameters and by their workers."""
    trained = [*served(1, (20, 100, 1000), (1, 2, 4, 8), repeats=3)]
    alone = {run.nbytes // 4: run.seconds for run in trained if (run.workers, run.design) == (1, "asynchronous")}
    yield from _grown("a gradient, parameters; one worker", alone)
    many = {run.workers: run.seconds for run in trained if (run.nbytes, run.design) == (nbytes(100), "asynchronous")}
    yield from _grown("a gradient, workers on this machine; asynchronous", many)


def _grown(what, seconds):
    before = None
    for size, took in seconds.items():
        power = f"power {math.log(took / seconds[before]) / math.log(size / before):5.2f}" if before else ""
        yield f"{what:<52}{size:>12,} {1e3 * took:>10.3g} ms  {power}"
        before = size


def _life(side):
    board = torch.randint(2, (side, side), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return _least(lambda: life.run(board, 16, engine="packed"))


def _pi(darts):
    return _least(lambda: estimate_pi(darts))


def _mean(count):
    numbers = torch.rand(10**7)
    with ThreadPoolExecutor(2) as pool:
        return _least(lambda: mean(numbers, parts=count, executor=pool))


def _least(call):
    found = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return min(found)
