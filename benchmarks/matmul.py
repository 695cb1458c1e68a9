"""Matrix products: `measure`'s figure beside a bare loop of `torch.mm`, and what a first call costs."""

import time
from statistics import median

import torch

from benchmarks.report import Row
from course.timing import measure


def rows():
    """Yield GFLOP/s at three sizes, each beside a hand-written loop over the same matrices."""
    for size, repeats in ((256, 500), (1024, 15), (1500, 7)):
        a, b = torch.rand(2, size, size)
        flops = 2 * size**3
        bare = flops / _loop(a, b, repeats) / 1e9
        timing = measure(torch.mm, a, b)
        yield Row(f"torch.mm, n = {size}, measured", timing.gflops(flops), "GFLOP/s", "a bare loop", bare)
    tiny = torch.rand(16, 16)
    timing = measure(torch.mm, tiny, tiny)
    yield Row("torch.mm, n = 16: first call", timing.first_call * 1e6, "µs", "its steady state", timing.median * 1e6)


def _loop(a, b, repeats):
    torch.mm(a, b)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - start)
    return median(seconds)
