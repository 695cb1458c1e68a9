"""How lab 02 is marked: devices played through again by what a stopwatch did; timelines, sheets and traces are drawn.

Nothing is timed here. A clock inside a sandbox belongs to whoever runs there, so a stopwatch is marked by the order of
what it did together with its number: both must follow from the device that the grader drew.
"""

from grader.lab.spec import Lab, Marking
from grader.marking.result_types import Integer, Json, List_, Number, Text, Tuple_

from .checks import EXERCISES

LAB = Lab(
    "lab02_matmul",
    title="Timing a matrix product",
    exercises=[
        Marking(EXERCISES["stopwatch"], Tuple_(Number(), List_(Text(8), limit=1000))),
        # of any shape: a key that lacks is a wrong answer and told as such
        Marking(EXERCISES["take_apart"], Json(limit=400)),
        Marking(EXERCISES["product_times"], Tuple_(Number(), Number())),
        Marking(EXERCISES["predict_crossover"], Number()),
        Marking(EXERCISES["pays_from"], Integer()),
    ],
    imports=(),  # plain data: whoever wants numpy or torch imports it
)
