"""A second sandbox, the grader's: what a submission works against is a process of its own, and its word is evidence."""

import json

import pytest

from grader.lab.source import load_lab
from grader.marking.mark import mark_submission
from grader.sandbox import Sandbox
from grader.sandbox.unsafe import UnsafeSandbox
from tests.helpers.sandboxes import need_sandboxes
from tests.helpers.small_lab import cells_of, notebook

LAB = """\
# %% [markdown]
# # A till

# %%
from course import check

# %% tags=["exercise:pay", "points:2"]
def pay(connect, amounts):
    ### BEGIN SOLUTION
    with connect() as link:
        for amount in amounts:
            link.sendall(b"%d\\n" % amount)
            total = int(link.recv(100))
        return total
    ### END SOLUTION

# %%
check(pay)
"""

MARKING = '''\
from grader.marking.result_types import Integer, List_
from grader.lab.spec import Case, Exercise, Host, Lab, Marking

TILL = """
import socket, threading

class Host:
    def __init__(self, plan):
        self.got, self.plan = [], plan
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        link, _ = self.listener.accept()
        for line in link.makefile():
            if line == "break\\\\n":
                import os
                os._exit(1)
            self.got.append(int(line))
            link.sendall(b"%d" % (sum(self.got) + self.plan))

    def seen(self):
        return self.got
"""
DRIVER = """
import socket

def drive(entry, port, amounts):
    return entry(lambda: socket.create_connection(("127.0.0.1", port)), amounts)
"""


def judge(case, got):
    wanted = list(case.arguments[0])
    if got.seen != wanted:
        return f"the till was paid {got.seen}, not {wanted}"
    return None if got.gave == sum(wanted) + case.plan else f"expected {sum(wanted) + case.plan}"


LAB = Lab("till", exercises=[Marking(
    Exercise(
        "pay",
        lambda draw: [Case(([1, 2],), plan=int(draw.integers(9, 10**9))) for _ in range(3)],
        judge=judge,
        oracle="the till",
    ),
    evidence=Integer(),
    host=Host(DRIVER, TILL, List_(Integer())),
    seconds=5.0,
)])
'''


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    place = tmp_path_factory.mktemp("labs") / "till"
    place.mkdir()
    (place / "lab.py").write_text(LAB)
    (place / "marking.py").write_text(MARKING)
    return load_lab(place)


def mark(lab, answer=None, sandbox=Sandbox, secret=b"s" * 32):
    answers = {} if answer is None else {"pay": f"def pay(connect, amounts):\n{answer}"}
    return mark_submission(lab, notebook(cells_of(lab, answers)), secret, sandbox).exercise("pay")


@pytest.fixture(scope="module", autouse=True)
def sandboxes():
    need_sandboxes()


@pytest.mark.parametrize("sandbox", [Sandbox, UnsafeSandbox])
def test_the_solution_works_against_the_host_and_another_answer_is_seen_there(lab, sandbox):
    assert mark(lab, sandbox=sandbox).score == 2
    once = mark(lab, "    link = connect()\n    link.sendall(b'3\\n')\n    return int(link.recv(99))", sandbox)
    assert (once.score, once.state) == (0, "graded")
    assert once.reason.endswith("the till was paid [3], not [1, 2].")


def test_a_host_that_is_brought_down_is_the_answers_fault_and_the_next_question_has_a_new_one(lab):
    broken = mark(lab, "    link = connect()\n    link.sendall(b'break\\n')\n    return len(link.recv(9))")
    assert (broken.score, broken.state) == (0, "graded")
    assert "what it worked against broke down" in broken.reason
    assert [case["right"] for case in broken.cases] == [False, False, False]


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.2])
def test_a_submission_that_ends_before_its_host_came_up_is_not_our_sides_failure(lab, seconds):
    answer = f"    return 3\nimport os, threading\nthreading.Timer({seconds}, os._exit, (0,)).start()\n"
    ended = mark(lab, answer)
    assert (ended.score, ended.state) != (2, "graded") and ended.state != "grader_failed", ended.reason


def test_a_submission_sees_neither_the_hosts_process_nor_its_plan_nor_its_files(lab):
    look = """\
    import json, os
    names = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                names.append(open(f"/proc/{pid}/cmdline").read() + open(f"/proc/{pid}/environ").read())
            except OSError as error:
                names.append(str(error))
    raise RuntimeError(json.dumps([os.getuid(), names]))"""
    reason = mark(lab, look).reason
    assert "Till" not in reason and "plan" not in reason
    assert json.dumps("class Host") not in reason
