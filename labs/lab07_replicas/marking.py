"""How lab 07 is marked: products, networks, orders of arrival and delays are drawn; gradients and parameters are read.

The tasks of exercise 1 are in a sandbox of the grader's own: what they were asked, and that all were asked before one
had answered, is their record. No second is measured.
"""

from pathlib import Path

from grader.lab.spec import Host, Lab, Marking
from grader.marking.result_types import Array, Flag, Integer, List_, Number, Text, Tuple_

from .checks import EXERCISES

ASKING = """
def drive(entry, port, a, b, count):
    import json
    import socket

    import numpy as np

    def task(number):
        def work(left, right):
            left, right = (np.ascontiguousarray(one, np.float64) for one in (left, right))
            asked = {"task": number, "left": left.shape, "right": right.shape}
            with socket.create_connection(("127.0.0.1", port), timeout=15) as link, link.makefile("rb") as answer:
                link.sendall(json.dumps(asked).encode() + b"\\n" + left.tobytes() + right.tobytes())
                made = answer.read()
            if not made and left.shape[0] * right.shape[1]:
                raise ValueError(f"task {number} can't multiply {left.shape} by {right.shape}")
            return np.frombuffer(made, np.float64).reshape(left.shape[0], right.shape[1])

        return work

    return entry(a, b, [task(number) for number in range(count)])
"""


def a_product(case):
    """Return the kind of a product of the case's size."""
    return Array("float64", (len(case.arguments[0]), case.arguments[1].shape[1]))


def gradients(case):
    """Return the kind of a gradient for each replica, and one for all."""
    numbers = sum(parameter.size for parameter in case.arguments[0])
    return Tuple_(Array("float64", (len(case.arguments[3]), numbers)), Array("float64", (numbers,)))


LAB = Lab(
    "lab07_replicas",
    title="Replicas",
    exercises=[
        Marking(
            EXERCISES["product_by_tasks"],
            a_product,
            host=Host(
                call=ASKING,
                source=Path(__file__).with_name("task_host.py").read_text(encoding="utf-8"),
                seen=List_(Tuple_(Integer(), Integer(), Text(64), Text(64), Flag())),
            ),
            groups={"right": 0.5, "at once": 0.5},
            specification_gets=0.5,
            seconds=25.0,
        ),
        Marking(EXERCISES["replica_gradients"], gradients),
        Marking(
            EXERCISES["sync_store"],
            List_(Tuple_(Text(20), Integer(), Array("float64", (2,)))),
            groups={"mean": 0.5, "late": 0.25, "order": 0.25},
        ),
        Marking(EXERCISES["delayed_descent"], lambda case: Array("float64", (case.arguments[3] + 1,))),
        Marking(EXERCISES["stable_rate"], Number(), seconds=20.0),
    ],
    imports=("numpy", "torch"),
)
