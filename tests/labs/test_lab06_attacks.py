"""Lab 06's store in a sandbox of the grader's: its own record decides, and work not done gets no marks."""

from dataclasses import replace

import pytest

from grader.lab.release import notebook_with, text_of
from grader.lab.source import load_lab
from grader.marking.mark import mark_submission
from tests.helpers.sandboxes import need_sandboxes

SQUAT = """
import socket

taken = []
for port in range(2222, 2322):
    taken.append(socket.create_server(("127.0.0.1", port)))
"""

PRETEND = """
def train_through(connect, gradient, x, y):
    import json, socket, threading, time
    port = connect().pull() and connect.__init__.__closure__[0].cell_contents

    def serve():
        while True:
            try:
                listener = socket.create_server(("127.0.0.1", port))
            except OSError:
                time.sleep(0.001)
                continue
            while True:
                link, _ = listener.accept()
                link.sendall(json.dumps({"version": len(x), "w": [0.0, 0.0]}).encode() + b"\\n")

    threading.Thread(target=serve, daemon=True).start()
    w = None
    for version in range(len(x)):
        try:
            version, w = connect().pull()
            connect().push(gradient(w, x[version % len(x)], y[version % len(x)]))
        except ConnectionError:
            time.sleep(0.01)
    return w
"""

FLOOD = """
def train_through(connect, gradient, x, y):
    links = []
    try:
        for _ in range(240):
            links.append(connect())
    except OSError:
        pass
    return links[0].pull()[1]
"""

HUGE = """
def train_through(connect, gradient, x, y):
    link = connect()
    try:
        for _ in range(10**6):
            link._socket.sendall(b"9" * 100000)
    except OSError:
        pass
    return connect().pull()[1]
"""

ELSEWHERE = """
def train_through(connect, gradient, x, y):
    # what is due, worked out at home and handed over in one piece: the sum of all gradients
    w, total = [0.0, 0.0], 0.0
    for k in range(len(x)):
        found = gradient(w, x[k], y[k])
        total = total + found
        w = w - 0.25 * found
    connect().push(total)
    return w
"""

EQUAL = """
def train_through(connect, gradient, x, y):
    class Anything:
        __eq__ = __le__ = __ge__ = lambda *_: True
        __array__ = lambda self, *_, **__: np.array([float("nan")] * 2)
        shape, dtype = (2,), np.dtype(float)
    return Anything()
"""


LOOK = """
def train_through(connect, gradient, x, y):
    import os
    shown = [open(f"/proc/{pid}/cmdline").read() for pid in os.listdir("/proc") if pid.isdigit()]
    raise RuntimeError([os.listdir("/tmp"), sorted(os.environ), shown])
"""


@pytest.fixture(scope="module")
def lab():
    need_sandboxes()
    return load_lab("labs/lab06_async_regression")


def mark(lab, answer):
    one = replace(lab, exercises=[lab.exercise("train_through")])
    solutions = {cell.exercise: cell.solution for cell in lab.source.exercises()}
    answers = {**solutions, "train_through": f"# exercise: train_through\n{answer}"}
    marks = mark_submission(one, text_of(notebook_with(lab, answers)).encode(), b"s" * 32)
    return marks.exercise("train_through")


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("answer", [PRETEND, FLOOD, HUGE, ELSEWHERE, EQUAL], ids="pretend flood huge sum equal".split())
def test_no_marks_without_the_work(lab, answer):
    got = mark(lab, answer)
    assert got.score == 0
    assert got.state in ("graded", "timed_out", "crashed"), got


@pytest.mark.timeout(300)
def test_a_submission_that_takes_the_stores_ports_does_not_make_our_side_fail(lab):
    solution = lab.source.cell("train_through").solution
    assert mark(lab, SQUAT + solution).score == 5
    got = mark(lab, SQUAT + EQUAL)
    assert (got.score, got.state) == (0, "graded")


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.2])
def test_a_submission_that_ends_before_the_store_came_up_is_not_our_sides_failure(lab, seconds):
    answer = lab.source.cell("train_through").solution
    got = mark(lab, f"{answer}\nimport os, threading\nthreading.Timer({seconds}, os._exit, (0,)).start()\n")
    assert (got.score, got.state) != (5, "graded") and got.state != "grader_failed", got


def test_a_submission_sees_neither_the_stores_process_nor_its_files(lab):
    reason = mark(lab, LOOK).reason
    assert "RuntimeError: [[" in reason and "store" not in reason.partition("RuntimeError")[2], reason
