"""How lab 06 is marked: lines, noise, orders of arrival are drawn for each submission; gradients and parameters read.

What drives an answer in the sandbox holds no other answer: the gradient that it brings is of another loss. The store of
exercise 6 is a process in a sandbox of the grader's own, and it is its record that decides.
"""

from pathlib import Path

import numpy as np

from grader.lab.spec import Beside, Case, Drive, Exercise, Lab, asking
from grader.marking.result_types import Array, Flag, Integer, List_, Number, Optional_, Tuple_

from . import driver as lab06_drive
from . import oracles

DRIVERS = Path(lab06_drive.__file__).read_text(encoding="utf-8")
PAIR = Array("float64", (2,))


def driven(name, adds=()):
    return Drive(f"{DRIVERS}\ndrive = {name}\n", adds=adds)


# ---- 1. The gradient of a line fit -----------------------------------------------------------------------------------


LOSS_GRADIENT = Exercise(
    "loss_gradient",
    cases=asking(oracles.lines),
    evidence=PAIR,
    expected=oracles.difference_gradient,
    oracle="half the difference of the losses one to either side, in exact fractions",
)


# ---- 2. The store ----------------------------------------------------------------------------------------------------


def stores(draw):
    cases = [Case(one, edge=True, group=group) for group, each in oracles.fixed_stores().items() for one in each]
    for group, max_staleness, care in (
        ("plain", None, ""),
        ("stale", 1, ""),
        ("stale", 0, ""),
        ("copies", None, "keep"),
    ):
        for count in (6, 20):
            w, rate = np.round(draw.normal(size=2), 2), round(float(draw.uniform(0.1, 0.9)), 2)
            calls = oracles.store_calls(draw, count, max_staleness)
            cases.append(Case((w, rate, max_staleness, calls, care), group=group))
    return cases


STORE = Exercise(
    "store",
    entry="Store",
    cases=stores,
    evidence=List_(Tuple_(Optional_(Integer()), Array("float64", (None,), limit=1024))),
    judge=lambda case, got: oracles.judge_store(got, *case.arguments),
    witness=driven("drive_store"),
    groups={"plain": 0.5, "stale": 0.25, "copies": 0.25},
    oracle="the first parameters less the rate times the sum of the gradients applied, after every call",
)


# ---- 3. Late gradients -----------------------------------------------------------------------------------------------


TRAIN_ASYNC = Exercise(
    "train_async",
    cases=lambda draw: [Case(one, edge=len(one[2]) < 3) for one in oracles.trainings(draw)],
    evidence=lambda case: Array("float64", (len(case.arguments[2]) + 1, 2)),
    expected=oracles.all_versions,
    witness=driven("drive_train", adds=("gradient",)),
    oracle="for each turn, the version that its worker made last, looked up; by another loss than yours",
)


# ---- 4. A hook that keeps a log --------------------------------------------------------------------------------------


STEP_LOG = Exercise(
    "step_log",
    entry="StepLog",
    cases=lambda draw: [Case(one, group=group) for group, each in oracles.logs(draw).items() for one in each],
    evidence=List_(Tuple_(Integer(), Number(), Integer())),
    expected=oracles.log_records,
    witness=driven("drive_log"),
    groups={"told": 2 / 3, "restored": 1 / 3},
    oracle="for each number, the telling of it that nothing undid; then block by block",
)


# ---- 5. Stop at a step -----------------------------------------------------------------------------------------------


def judge_stop(case, got):
    refused, step = wanted = oracles.stop_step(*case.arguments)
    if got == wanted:
        return None
    return "expected ValueError" if refused else f"expected no ValueError, and a stop asked for at step {step}"


STOP_AT_STEP = Exercise(
    "stop_at_step",
    entry="StopAtStep",
    cases=asking(oracles.stops),
    evidence=Tuple_(Flag(), Optional_(Integer())),
    judge=judge_stop,
    witness=driven("drive_stop"),
    oracle="the first step told that is as large as the number asked for",
)


# ---- 6. Outlive the store --------------------------------------------------------------------------------------------


WORKER = f"""
{DRIVERS}

def drive(entry, port, x, y):
    import json
    import socket

    class Connection:
        def __init__(self):
            self._socket = socket.create_connection(("127.0.0.1", port), timeout=5)
            self._file = self._socket.makefile("rb")

        def __del__(self):
            if hasattr(self, "_file"):
                self._file.close()
                self._socket.close()

        def pull(self):
            told = self._ask(do="pull")
            return told["version"], np.array(told["w"])

        def push(self, gradient):
            return self._ask(do="push", gradient=[float(part) for part in gradient])["version"]

        def _ask(self, **request):
            self._socket.sendall(json.dumps(request).encode() + b"\\n")
            line = self._file.readline()
            if not line:
                raise ConnectionError("the store is gone")
            told = json.loads(line)
            if "error" in told:
                raise RuntimeError(told["error"])
            return told

    return entry(Connection, tanh_gradient, x, y)
"""


def deaths(draw):
    cases = []
    for x, y, rate, every, ends in oracles.lives(draw):
        plan = {"rate": rate, "every": every, "deaths": [list(end) for end in ends], "down": 0.05}
        cases.append(Case((x, y), plan=plan))
    return cases


def judge_training(case, got):
    rows, version, w = got.seen
    applied = [(int(row[0]), row[1:3], row[3:]) for row in rows]
    complaint = oracles.judge_record(got.gave, applied, version, w, *case.arguments)
    if complaint is None:
        return None
    ends = [f"at push {push} of a life, {'applied' if taken else 'not applied'}" for push, taken in case.plan["deaths"]]
    return f"{complaint} (the store died {'; '.join(ends) or 'never'}; a checkpoint every {case.plan['every']})"


TRAIN_THROUGH = Exercise(
    "train_through",
    cases=deaths,
    evidence=PAIR,
    judge=judge_training,
    witness=Beside(
        WORKER,
        adds=("connect", "gradient"),
        host=Path(__file__).with_name("store_host.py").read_text(encoding="utf-8"),
        seen=Tuple_(List_(Array("float64", (5,)), limit=5000), Integer(), PAIR),
    ),
    oracle="the record that the store kept: each gradient against the one due at its version",
    seconds=10.0,
)


LAB = Lab(
    "lab06_async_regression",
    title="A store and its workers",
    exercises=[LOSS_GRADIENT, STORE, TRAIN_ASYNC, STEP_LOG, STOP_AT_STEP, TRAIN_THROUGH],
)
