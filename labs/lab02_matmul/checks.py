"""Lab 02's exercises: stopwatches judged by what they did, times taken apart, products and crossovers foretold."""

from functools import partial

from course.checks.compare import show
from course.checks.exercise import Exercise, asking, by_name, strategy

from . import cases, oracles
from .driver import drive

_drawn = partial(strategy, f"{__package__}.strategies")


def _device(calls, accept, set_up, repeats):
    """Put the arguments of a stopwatch into words: what the device takes, then what the stopwatch is given."""
    return (
        f"work of {show(calls)} µs, handed over in {accept} µs, the first call {set_up} µs more, now, wait, {repeats}"
    )


EXERCISES = by_name(
    Exercise(
        "stopwatch",
        asking(cases.stopwatches),
        judge=lambda case, got: oracles.stopwatch_complaint(*got, *case.arguments),
        call=drive,
        told=_device,
        inputs=_drawn("devices"),
        oracle="the same device, played through by the order of your calls: each call's own time, and their median",
        hint="call and wait once before you count; then, each time: read, call, wait, read; give the median.",
    ),
    Exercise(
        "take_apart",
        asking(cases.timelines),
        oracles.taken_apart,
        inputs=_drawn("timelines"),
        oracle="every microsecond by itself",
        hint="sort all starts and ends; between two neighbours nothing changes, so ask there what is under way.",
    ),
    Exercise(
        "product_times",
        asking(cases.sheets_and_shapes),
        oracles.foretold,
        inputs=_drawn("sheets_and_shapes"),
        oracle="operations and numbers counted row by row, then divided",
        hint="2 · rows · inner · columns operations; three matrices of 4-byte numbers; two go in, one comes out.",
    ),
    Exercise(
        "predict_crossover",
        asking(cases.measured_rows),
        oracles.crossing,
        inputs=_drawn("traces"),
        oracle="the interval halved until it is a point",
        hint="find the last size at which the CPU still wins; the curves are straight in log(n), log(seconds).",
    ),
    Exercise(
        "pays_from",
        asking(cases.pay_times),
        oracles.first_that_pays,
        inputs=_drawn("pay_times"),
        oracle="1, 2, 3, … products, tried one after another",
        hint="compare there + k·(gpu + back) with k·cpu; a tie is no win; -1 when it never pays.",
    ),
)
