"""`measure_matmul`: square products on each device, the copies timed apart, all within a budget of seconds."""

import time
from collections.abc import Callable, Sequence

import torch

from course.progress_line import LateLine
from course.timing.device_lookup import Place, find_device
from course.timing.precision import multiplying, name_of
from course.timing.stopwatch import measure
from course.traces import MatmulTiming

_CALLS = 5  # of one product: the first, one to warm up, three repeats
_TELLING = 512  # a simulated product below this size spends its real seconds on being simulated


def measure_matmul(
    sizes: Sequence[int],
    devices: Sequence[str | torch.device] = ("/cpu:0",),
    budget: float = 20.0,
    dtype: str | torch.dtype = "float32",
    generator: torch.Generator | None = None,
    watch: Callable[[float], object] | None = None,
) -> list[MatmulTiming]:
    """Time the product of two random `size` × `size` matrices on each device; return a list of `MatmulTiming`.

    - `sizes`: integers; `devices`: their names, or `torch.device`s. The result follows the sizes, device by device.
    - `budget`: seconds for everything. A slow machine repeats less; a product that would not fit at all (judged from
      the one before on that device) is left out, so the list may be shorter than asked for.
    - `dtype`: a `torch.dtype` or its name, or "tfloat32" (float32 on a GPU's tensor cores).
    - `generator`: a CPU `torch.Generator` for the matrices; `watch` as in `measure`.

    `to_device` counts both factors, `from_device` the product, in ordinary memory; on the CPU both are 0. On a device
    of `simulated_gpus` every figure is of kind "modelled"; the products are computed, so the budget holds. Raises
    ValueError for a device that is not here, a size below 1, a budget of 0, or a dtype that cannot be multiplied there.
    """
    _check(sizes, budget)
    places = [find_device(device) for device in devices]
    deadline = time.perf_counter() + budget
    work = [(size, place) for size in sizes for place in places]
    timings: list[MatmulTiming] = []
    speed: dict[Place, float] = {}  # device -> seconds a multiplication
    with LateLine("products") as line:
        for number, (size, place) in enumerate(work):
            line.look(number, len(work))
            remaining = deadline - time.perf_counter()
            expected = speed.get(place, 0.0) * size**3  # seconds of one call; 0: nothing known yet
            if 2 * expected > remaining:
                continue
            start = time.perf_counter()
            timing = _timed(size, place, remaining / (len(work) - number), expected, dtype, generator, watch)
            timings.append(timing)
            if not place.simulation:
                speed[place] = timing.compute / size**3
            elif size >= _TELLING:
                speed[place] = (time.perf_counter() - start) / _CALLS / size**3
    return timings


def _timed(size, place, share, expected, dtype, generator, watch):
    seconds = max(0.02, min(0.3, share / 4))
    at_least = 3 if _CALLS * expected < share else 1
    with multiplying(dtype, place) as number:
        a, b = (torch.rand(size, size, generator=generator).to(number) for _ in range(2))
        there_a, there_b = a.to(place.device), b.to(place.device)
        product = measure(torch.mm, there_a, there_b, seconds=seconds, at_least=at_least, watch=watch)
        to_device = from_device = 0.0
        if place.device.type != "cpu":
            to_device = measure(
                lambda: (a.to(place.device), b.to(place.device)), device=place.device, seconds=seconds
            ).median
            from_device = measure(torch.Tensor.cpu, there_a @ there_b, seconds=seconds).median
    return MatmulTiming(
        size=size,
        device=place.name,
        compute=product.median,
        to_device=to_device,
        from_device=from_device,
        first_call=product.first_call,
        iqr=product.iqr,
        repeats=product.repeats,
        threads=product.threads,
        dtype=name_of(dtype),
        kind=place.kind,
        origin=place.origin,
    )


def _check(sizes, budget):
    wrong = [size for size in sizes if isinstance(size, bool) or not isinstance(size, int) or size < 1]
    if wrong:
        raise ValueError(f"measure_matmul(sizes={list(sizes)}): {wrong[0]!r} is no size; give integers of 1 or more.")
    if budget <= 0:
        raise ValueError(f"measure_matmul(budget={budget}): give a number of seconds above 0.")
