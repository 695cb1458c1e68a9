"""How lab 01 is marked: programs that an answer leaves behind are run here; rules, requests and logs are drawn.

Where an op runs can't be believed from inside a sandbox: whoever is asked there may say anything. So an answer's word
is taken for nothing. Its program is taken, and run here on numbers that it never saw: a forged program that passes is
a right answer, written down.
"""

from pathlib import Path

from grader.lab.spec import Drive, Exercise, Lab, asking
from grader.marking.result_types import Integer, List_, Text, Tuple_

from . import traced
from .cases import layer_shapes, logs, ops, placed_programs, product_shapes, requests
from .checks import (
    asked_device,
    bytes_between,
    largest_mover,
    layers_complaint,
    product_complaint,
    where_it_runs,
)

#: Tensors without numbers, and how to call an answer with them; the lines that it leaves behind are the evidence.
TRACED = Drive(Path(traced.__file__).read_text(encoding="utf-8"))
PROGRAM = List_(Text(80), limit=200)


PRODUCT_ON_GPU = Exercise(
    "product_on_gpu",
    cases=asking(product_shapes),
    evidence=PROGRAM,
    judge=lambda case, lines: product_complaint(lines, *case.arguments),
    witness=TRACED,
    oracle="your program, run line by line on whole numbers: its result against `a @ b`, its devices and its bytes",
)

LAYERS_ON_GPU = Exercise(
    "layers_on_gpu",
    cases=asking(layer_shapes),
    evidence=PROGRAM,
    judge=lambda case, lines: layers_complaint(lines, *case.arguments),
    witness=TRACED,
    oracle="your program, run line by line on whole numbers, against the loop where nothing has to move",
    specification_gets=0.0,  # the loop on the CPU
)

DEVICE_FOR = Exercise(
    "device_for",
    cases=asking(ops),
    evidence=Text(40),
    expected=asked_device,
    oracle="the two sentences, every device compared with every other",
)

RUNS_ON = Exercise(
    "runs_on",
    cases=asking(requests),
    evidence=Text(40),
    expected=where_it_runs,
    oracle="a list of all spellings of all devices that are there",
)

WHO_MOVED = Exercise(
    "who_moved",
    cases=asking(logs),
    evidence=Tuple_(Integer(), Integer()),
    expected=largest_mover,
    oracle="from every line that computes, back to the one before it",
)

BYTES_TO_MOVE = Exercise(
    "bytes_to_move",
    cases=asking(placed_programs),
    evidence=Integer(),
    expected=bytes_between,
    oracle="tensor by tensor, the devices that need it and did not make it",
)


LAB = Lab(
    "lab01_devices",
    title="Devices",
    exercises=[PRODUCT_ON_GPU, LAYERS_ON_GPU, DEVICE_FOR, RUNS_ON, WHO_MOVED, BYTES_TO_MOVE],
    modules=("course.devices.names",),
    imports=(),  # plain data: whoever wants numpy or torch imports it
)
