"""Exercises of chapter 02: counting operations, a right stopwatch, and when copying pays."""

from statistics import median

from course.checks.exercise import Exercise
from course.timing.pretend import PretendGPU


def count_flops(rows, inner, columns):
    """Count a product's multiplications and additions one by one: the definition, as loops."""
    count = 0
    for _ in range(rows):
        for _ in range(columns):
            for _ in range(inner):
                count += 2  # one multiplication, one addition to the running sum
    return count


def watched_seconds(gpu, work, repeats):
    """Return the median seconds of `repeats` launches of `work` seconds, each waited for, none of them the first."""
    gpu.launch(work)
    gpu.synchronize()
    times = []
    for _ in range(repeats):
        start = gpu.clock()
        gpu.launch(work)
        gpu.synchronize()
        times.append(gpu.clock() - start)
    return median(times)


def products_needed(cpu, copies, gpu, limit=10_000):
    """Return the fewest products for which copying once pays, by trying 1, 2, 3, …; -1 if none up to `limit` does."""
    for products in range(1, limit + 1):
        if copies + products * gpu < products * cpu:
            return products
    return -1


_SHAPES = [(1, 1, 1), (1, 2, 1), (2, 1, 1), (1, 1, 2), (2, 3, 4), (5, 4, 3), (7, 1, 9)]
_SECONDS = [(2.0, 1.0, 0.5), (1.0, 3.0, 0.5), (1.0, 2.0, 0.5), (0.25, 0.0, 0.125), (1.0, 1.0, 1.0), (1.0, 1.0, 2.0)]


def _devices():
    yield PretendGPU(accept=0.0, set_up=0.0), 1.0, 1
    yield PretendGPU(accept=0.25, set_up=0.0), 1.0, 1
    yield PretendGPU(accept=0.25, set_up=8.0), 1.0, 1
    yield PretendGPU(accept=0.25, set_up=8.0), 2.0, 3
    yield PretendGPU(accept=0.0, set_up=0.5), 1.0, 5


EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "matmul_flops",
            lambda: _SHAPES,
            count_flops,
            hint="each of the rows × columns results is a sum of `inner` products: count both",
        ),
        Exercise(
            "right_stopwatch",
            _devices,
            watched_seconds,
            hint="launch once and wait before you count; then, each time, read, launch, wait, read; give the median",
        ),
        Exercise(
            "break_even",
            lambda: _SECONDS,
            products_needed,
            hint="compare copies + k·gpu with k·cpu; a tie is no win; answer -1 when it never pays",
        ),
    ]
}
