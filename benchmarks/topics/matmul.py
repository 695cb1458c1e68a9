"""Matrix products: `measure` and `roofline` beside a bare loop of `torch.mm`, and what a first call costs."""

import time
from statistics import median

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target

_SIZES = {256: 500, 1024: 15, 1500: 7}  # n -> repeats of the bare loop
_MEASURED, _BARE, _ROOF = "course.timing.measure", "a bare loop", "course.timing.roofline"
_PEAK, _FIRST = "Peak of one core", "torch.mm, n = 16: first call"


def contests(quick, places):
    """Yield the products, the peak and the first call, all of one process."""
    pair = (Contestant(_MEASURED, kind=OURS), Contestant(_BARE))
    named = [Contest(_title(n), "GFLOP/s", pair) for n in _SIZES]
    roof = (Contestant(_ROOF, kind=OURS), Contestant("torch.mm's fastest"))
    named.append(Contest(_PEAK, "GFLOP/s", roof, targets=(Target(_ROOF, "torch.mm's fastest", least=0.95),)))
    first = (Contestant("the first call", kind=OURS), Contestant("its steady state"))
    named.append(Contest(_FIRST, "µs", first, "less"))
    work = Contestant("matmul", f"{__name__}:figures", kind=OURS)
    yield Together((work,), tuple(named), rounds=1 if quick else 6)


def _title(n):
    return f"torch.mm, n = {n}"


def figures():
    """Measure each size, the roofline and a bare loop of the same sizes, one after the other."""
    return Work(_measured, figures=True, warm_ups=0)


def _measured():
    import torch

    from course.timing import measure, roofline

    found = {}
    for n, repeats in _SIZES.items():
        a, b = torch.rand(2, n, n)
        bare = 2 * n**3 / _loop(a, b, repeats) / 1e9
        found[_title(n)] = {_MEASURED: measure(torch.mm, a, b).gflops(2 * n**3), _BARE: bare}
    # other work on the machine only ever adds time, so of each the best counts
    fastest = max(2 * n**3 / _loop(*torch.rand(2, n, n), repeats, min) / 1e9 for n, repeats in ((1024, 12), (2048, 2)))
    found[_PEAK] = {_ROOF: roofline(seconds=1).peak / 1e9, "torch.mm's fastest": fastest}
    tiny = torch.rand(16, 16)
    timing = measure(torch.mm, tiny, tiny)
    found[_FIRST] = {"the first call": timing.first_call * 1e6, "its steady state": timing.median * 1e6}
    return found


def _loop(a, b, repeats, of=median):
    import torch

    torch.mm(a, b)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - start)
    return of(seconds)
