"""How lab 02 is marked: devices played through again by what a stopwatch did; timelines, sheets and traces are drawn.

Nothing is timed here. A clock inside a sandbox belongs to whoever runs there, so a stopwatch is marked by the order of
what it did together with its number: both must follow from the device that the grader drew.
"""

from pathlib import Path

from grader.lab.spec import Drive, Exercise, Lab, asking
from grader.marking.result_types import Integer, Json, List_, Number, Text, Tuple_

from . import driver as clocked
from .cases import measured_rows, pay_times, sheets_and_shapes, stopwatches, timelines
from .checks import crossing, first_that_pays, foretold, stopwatch_complaint, taken_apart

STOPWATCH = Exercise(
    "stopwatch",
    cases=asking(stopwatches),
    evidence=Tuple_(Number(), List_(Text(8), limit=1000)),
    judge=lambda case, got: stopwatch_complaint(*got, *case.arguments),
    witness=Drive(Path(clocked.__file__).read_text(encoding="utf-8")),
    oracle="the same device, played through by the order of your calls: each call's own time, and their median",
)

TAKE_APART = Exercise(
    "take_apart",
    cases=asking(timelines),
    evidence=Json(limit=400),  # of any shape: a key that lacks is a wrong answer and told as such
    expected=taken_apart,
    oracle="every microsecond by itself",
)

PRODUCT_TIMES = Exercise(
    "product_times",
    cases=asking(sheets_and_shapes),
    evidence=Tuple_(Number(), Number()),
    expected=foretold,
    oracle="operations and numbers counted row by row, then divided",
)

PREDICT_CROSSOVER = Exercise(
    "predict_crossover",
    cases=asking(measured_rows),
    evidence=Number(),
    expected=crossing,
    oracle="the interval halved until it is a point",
)

PAYS_FROM = Exercise(
    "pays_from",
    cases=asking(pay_times),
    evidence=Integer(),
    expected=first_that_pays,
    oracle="1, 2, 3, … products, tried one after another",
)


LAB = Lab(
    "lab02_matmul",
    title="Timing a matrix product",
    exercises=[STOPWATCH, TAKE_APART, PRODUCT_TIMES, PREDICT_CROSSOVER, PAYS_FROM],
    imports=(),  # plain data: whoever wants numpy or torch imports it
)
