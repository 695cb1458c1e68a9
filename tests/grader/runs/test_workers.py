"""Several processes of the grader's: one that dies or hangs costs one mark, and none outlives the grading."""

import multiprocessing
import os
import signal

import pytest

from grader.runs import workers
from grader.runs.workers import Task, mark_all
from grader.sandbox import SandboxUnavailable
from grader.sandbox.unsafe import UnsafeSandbox
from tests.helpers.class_here import graded, hand_in, scores, stand_in, states

FULL = 6


def without_a_sandbox(lab, data, secret, sandbox):
    raise SandboxUnavailable("no bubblewrap")


def without_one_sandbox(lab, data, secret, sandbox):
    return (without_a_sandbox if data == b"ONCE" else stand_in)(lab, data, secret, sandbox)


class NoSandbox:
    """Never comes up."""

    def __init__(self, profile):
        self.profile = profile

    def start(self, program):
        raise SandboxUnavailable("no bubblewrap")


def interrupted(lab, data, secret, sandbox):
    os.kill(os.getpid(), signal.SIGINT)  # as the terminal does to all that it started
    return stand_in(lab, data, secret, sandbox)


@pytest.mark.long
def test_a_worker_that_dies_or_hangs_costs_its_own_mark_and_no_other(course, small, tmp_path, monkeypatch):
    monkeypatch.setenv("MARKED_BY", str(tmp_path / "marked-by"))
    for student, text in {"ada": "FULL", "bob": "EXIT", "cyd": "RAISE", "dan": "FULL", "eve": "HANG"}.items():
        hand_in(course, student, text)
    grading = graded(course, small, jobs=2, seconds=8)
    assert scores(grading) == {"ada": FULL, "bob": 0, "cyd": 0, "dan": FULL, "eve": 0}
    failed = {student for student, found in states(grading).items() if found == {"grader_failed"}}
    assert failed == {"bob", "cyd", "eve"}
    reasons = {row.student: row.reason for row in grading.rows}
    assert "exit status 7" in reasons["bob"]
    assert "longer than any submission can" in reasons["eve"]
    assert not multiprocessing.active_children()
    marked_by = (tmp_path / "marked-by").read_text().splitlines()
    assert len(marked_by) == 5
    assert str(os.getpid()) not in marked_by


def test_a_worker_marks_many_and_is_replaced_now_and_then(small, monkeypatch, tmp_path):
    monkeypatch.setenv("MARKED_BY", str(tmp_path / "marked-by"))
    monkeypatch.setattr(workers, "LIFE", 3)
    tasks = (Task(number, b"FULL", b"") for number in range(5))
    found = {task.key: marks.score for task, marks in mark_all(small, tasks, 1, mark=interrupted)}
    assert found == dict.fromkeys(range(5), FULL)
    assert len(set((tmp_path / "marked-by").read_text().splitlines())) == 2


def test_no_sandbox_stops_the_grading_with_its_reason(small):
    with pytest.raises(SandboxUnavailable, match="no bubblewrap"):
        list(mark_all(small, [Task(0, b"FULL", b"")], 1, sandbox=NoSandbox, mark=without_a_sandbox))
    assert not multiprocessing.active_children()


def test_a_sandbox_that_does_not_come_up_once_costs_one_mark_and_no_other(small):
    tasks = [Task(0, b"FULL", b""), Task(1, b"ONCE", b""), Task(2, b"FULL", b"")]
    found = {task.key: m for task, m in mark_all(small, tasks, 0, sandbox=UnsafeSandbox, mark=without_one_sandbox)}
    assert [found[number].score for number in range(3)] == [FULL, 0, FULL]
    assert {mark.state for mark in found[1].exercises} == {"grader_failed"}
    assert "no bubblewrap" in found[1].exercises[0].reason


def test_submissions_are_read_as_workers_become_free(small):
    read = []

    def tasks():
        for number in range(50):
            read.append(number)
            yield Task(number, b"FULL", b"")

    marking = mark_all(small, tasks(), 1, mark=stand_in)
    next(marking)
    assert len(read) <= 3
    marking.close()
    assert not multiprocessing.active_children()
