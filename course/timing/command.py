"""What `python -m course matmul cpu 1500` prints."""

from course.timing.matmul import measure_matmul
from course.timing.timing import in_words


def report(device, sizes, budget=20.0):
    """Yield the lines of the command: one a size, then the sizes that the budget (seconds) left out.

    Raises ValueError as `measure_matmul` does; a GPU that is not here is such an error.
    """
    timings = measure_matmul(list(sizes), [device], budget=budget)
    yield from map(_line, timings)
    missing = [str(size) for size in sizes if size not in {t.size for t in timings}]
    if missing:
        yield f"left out, more than the budget of {budget:g} s allows: {', '.join(missing)}"


def _line(timing):
    steady = f"{in_words(timing.compute)} ± {in_words(timing.iqr)}, median of {timing.repeats}"
    speed = f"{timing.gflops:.0f} GFLOP/s"
    if timing.on_cpu:
        more = f"{timing.threads} threads"
    else:
        more = f"copies {in_words(timing.to_device)} there, {in_words(timing.from_device)} back"
    return f"{timing.device} {timing.size}: {steady} ({speed}, {more}); first call {in_words(timing.first_call)}"
