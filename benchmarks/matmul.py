"""Matrix products: `measure` beside a bare loop of `torch.mm`, the roofline's peak, and what a first call costs."""

import time
from statistics import median

import torch

from benchmarks.report import Row
from course.timing import measure, roofline


def rows():
    """Yield GFLOP/s at three sizes, each beside a hand-written loop over the same matrices."""
    for size, repeats in ((256, 500), (1024, 15), (1500, 7)):
        a, b = torch.rand(2, size, size)
        flops = 2 * size**3
        bare = flops / _loop(a, b, repeats) / 1e9
        timing = measure(torch.mm, a, b)
        yield Row(f"torch.mm, n = {size}, measured", timing.gflops(flops), "GFLOP/s", "a bare loop", bare)
    yield from _peak()
    tiny = torch.rand(16, 16)
    timing = measure(torch.mm, tiny, tiny)
    yield Row("torch.mm, n = 16: first call", timing.first_call * 1e6, "µs", "its steady state", timing.median * 1e6)


def _peak(rounds=6):
    """The peak of the roofline beside the fastest product of a bare loop of the same sizes, taken in turn.

    Other work on the machine only ever adds time, so of each the best counts.
    """
    roofs, peers = [], []
    for _ in range(rounds):
        peers += [2 * n**3 / _loop(*torch.rand(2, n, n), repeats, min) / 1e9 for n, repeats in ((1024, 12), (2048, 2))]
        roofs.append(roofline(seconds=1))
    peak, memory = max(roof.peak for roof in roofs) / 1e9, max(roof.bandwidth for roof in roofs) / 1e9
    yield Row("roofline: peak of this CPU", peak, "GFLOP/s", "torch.mm's fastest", max(peers), "≥ 0.95×")
    yield Row("roofline: memory of this CPU", memory, "GB/s")


def _loop(a, b, repeats, of=median):
    torch.mm(a, b)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - start)
    return of(seconds)
