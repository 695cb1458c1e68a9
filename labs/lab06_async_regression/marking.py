"""How lab 06 is marked: lines, noise, orders of arrival are drawn for each submission; gradients and parameters read.

What drives an answer in the sandbox holds no other answer: the gradient that it brings is of another loss. The store of
exercise 6 is a process in a sandbox of the grader's own, and it is its record that decides.
"""

from pathlib import Path

from grader.lab.spec import Host, Lab, Marking
from grader.marking.result_types import Array, Flag, Integer, List_, Number, Optional_, Tuple_

from .checks import EXERCISES

HERE = Path(__file__).parent
DRIVERS = (HERE / "driver.py").read_text(encoding="utf-8")
PAIR = Array("float64", (2,))

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


def versions(case):
    """Return the kind of all versions of the parameters: one more than turns."""
    return Array("float64", (len(case.arguments[2]) + 1, 2))


LAB = Lab(
    "lab06_async_regression",
    title="A store and its workers",
    exercises=[
        Marking(EXERCISES["loss_gradient"], PAIR),
        Marking(
            EXERCISES["store"],
            List_(Tuple_(Optional_(Integer()), Array("float64", (None,), limit=1024))),
            groups={"plain": 0.5, "stale": 0.25, "copies": 0.25},
        ),
        Marking(EXERCISES["train_async"], versions),
        Marking(
            EXERCISES["step_log"],
            List_(Tuple_(Integer(), Number(), Integer())),
            groups={"told": 2 / 3, "restored": 1 / 3},
        ),
        Marking(EXERCISES["stop_at_step"], Tuple_(Flag(), Optional_(Integer()))),
        Marking(
            EXERCISES["train_through"],
            PAIR,
            host=Host(
                call=WORKER,
                source=(HERE / "store_host.py").read_text(encoding="utf-8"),
                seen=Tuple_(List_(Array("float64", (5,)), limit=5000), Integer(), PAIR),
            ),
            seconds=10.0,
        ),
    ],
)
