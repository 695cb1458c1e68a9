"""How lab 01 is marked: programs that an answer leaves behind are run here; rules, requests and logs are drawn.

Where an op runs can't be believed from inside a sandbox: whoever is asked there may say anything. So an answer's word
is taken for nothing. Its program is taken, and run here on numbers that it never saw: a forged program that passes is
a right answer, written down.
"""

from grader.lab.spec import Lab, Marking
from grader.marking.result_types import Integer, List_, Text, Tuple_

from .checks import EXERCISES

PROGRAM = List_(Text(80), limit=200)

LAB = Lab(
    "lab01_devices",
    title="Devices",
    exercises=[
        Marking(EXERCISES["product_on_gpu"], PROGRAM),
        Marking(EXERCISES["layers_on_gpu"], PROGRAM, specification_gets=0.0),  # the loop on the CPU
        Marking(EXERCISES["device_for"], Text(40)),
        Marking(EXERCISES["runs_on"], Text(40)),
        Marking(EXERCISES["who_moved"], Tuple_(Integer(), Integer())),
        Marking(EXERCISES["bytes_to_move"], Integer()),
    ],
    modules=("course.devices.names",),
    imports=(),  # plain data: whoever wants numpy or torch imports it
)
