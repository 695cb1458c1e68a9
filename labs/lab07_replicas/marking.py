"""How lab 07 is marked: products, networks, orders of arrival and delays are drawn; gradients and parameters are read.

The tasks of exercise 1 are in a sandbox of the grader's own: what they were asked, and that all were asked before one
had answered, is their record. No second is measured.
"""

import hashlib
from pathlib import Path

import numpy as np

from grader.lab.spec import Beside, Case, Drive, Exercise, Lab, TensorCall, asking
from grader.marking.result_types import Array, Flag, Integer, List_, Number, Text, Tuple_

from . import driver as lab07_drive
from . import oracles

DRIVERS = Path(lab07_drive.__file__).read_text(encoding="utf-8")

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


# ---- 1. A split product ----------------------------------------------------------------------------------------------


def split(draw):
    cases = [Case(one, group="right", plan={"tasks": one[2], "together": False}) for one in oracles.products(draw)]
    # one is enough: tasks that are asked in turn make it wait for seconds
    a, b, tasks = oracles.products(draw)[-1]
    return [*cases, Case((a, b, tasks), group="at once", plan={"tasks": tasks, "together": True})]


def judge_split(case, got):
    a, b, tasks = case.arguments
    for task, (first, last) in enumerate(oracles.shares_of(len(a), tasks)):
        given = [one for one in got.seen if one[0] == task]
        if len(given) != 1:
            return f"task {task} was asked {len(given)} times, not once"
        _, rows, left, right, _ = given[0]
        if left != digest(a[first:last]):
            return f"task {task} was given {rows} rows; its share is rows {first} to {last - 1} of a"
        if right != digest(b):
            return f"task {task} was given another right side than all of b"
    if len(got.seen) != tasks:
        return f"{len(got.seen)} requests for {tasks} tasks"
    if not np.array_equal(got.gave, a @ b):
        return f"expected {(a @ b).tolist()}"
    waited = [task for task, *_, together in sorted(got.seen) if not together]
    return f"task {waited[0]} was waited for before the others were asked" if waited else None


def digest(array):
    array = np.ascontiguousarray(array)
    return hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()


PRODUCT_BY_TASKS = Exercise(
    "product_by_tasks",
    cases=split,
    evidence=lambda case: Array("float64", (len(case.arguments[0]), case.arguments[1].shape[1])),
    judge=judge_split,
    witness=Beside(
        ASKING,
        host=Path(__file__).with_name("task_host.py").read_text(encoding="utf-8"),
        seen=List_(Tuple_(Integer(), Integer(), Text(64), Text(64), Flag())),
    ),
    groups={"right": 0.5, "at once": 0.5},
    oracle="the whole product of whole numbers, and the tasks' own record of what they were asked",
    specification_gets=0.5,
    seconds=25.0,
)


# ---- 2. The replicas of a network ------------------------------------------------------------------------------------


def numbers(case):
    return sum(parameter.size for parameter in case.arguments[0])


REPLICA_GRADIENTS = Exercise(
    "replica_gradients",
    cases=lambda draw: [Case(one) for one in oracles.networks(draw)],
    evidence=lambda case: Tuple_(
        Array("float64", (len(case.arguments[3]), numbers(case))), Array("float64", (numbers(case),))
    ),
    judge=lambda case, got: judge_gradients(case, got),
    witness=TensorCall(),
    oracle="the chain rule by hand, row by row, without replicas",
)


def judge_gradients(case, got):
    for found, due, name in zip(
        got, oracles.every_gradient(*case.arguments), ("the replicas' gradients", "their mean"), strict=True
    ):
        if not np.allclose(found, due, rtol=1e-6, atol=1e-9):
            return f"expected {name} to be {due.round(6).tolist()}"
    return None


# ---- 3. The store that waits -----------------------------------------------------------------------------------------


def synchronous(draw):
    cases = [Case(one, edge=True, group=group) for group, each in oracles.fixed_sync().items() for one in each]
    return cases + [Case(one, group=group) for group, each in oracles.drawn_sync(draw).items() for one in each]


SYNC_STORE = Exercise(
    "sync_store",
    entry="SyncStore",
    cases=synchronous,
    evidence=List_(Tuple_(Text(20), Integer(), Array("float64", (2,)))),
    judge=lambda case, got: oracles.judge_sync(got, *case.arguments),
    witness=Drive(f"{DRIVERS}\ndrive = drive_sync\n"),
    groups={"mean": 0.5, "late": 0.25, "order": 0.25},
    oracle="after each push, all pushes before it looked through, and every update made again from the first one",
)


# ---- 4. Stale gradients ----------------------------------------------------------------------------------------------


DELAYED_DESCENT = Exercise(
    "delayed_descent",
    cases=asking(oracles.descents),
    evidence=lambda case: Array("float64", (case.arguments[3] + 1,)),
    judge=lambda case, got: oracles.judge_descent(got, *case.arguments),
    witness=Drive(f"{DRIVERS}\ndrive = drive_descent\n", adds=("gradient",)),
    oracle="each version follows from the two before it that it must follow from, on another curve than a parabola",
)


# ---- 5. How much lateness a rate stands ------------------------------------------------------------------------------


STABLE_RATE = Exercise(
    "stable_rate",
    cases=asking(oracles.parabolas),
    evidence=Number(),
    judge=lambda case, got: oracles.judge_rate(got, *case.arguments),
    oracle="the roots of z^(delay + 1) - z^delay + rate * curvature, 1 % to either side of your rate",
    seconds=20.0,
)


LAB = Lab(
    "lab07_replicas",
    title="Replicas",
    exercises=[PRODUCT_BY_TASKS, REPLICA_GRADIENTS, SYNC_STORE, DELAYED_DESCENT, STABLE_RATE],
    imports=("numpy", "torch"),
)
