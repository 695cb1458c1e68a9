"""A thread that leaves its core: only where another one may be free, seldom, and with nothing changed for good."""

import os

import pytest

from course.training.server import another_core
from course.training.server.another_core import Core


@pytest.fixture
def asked(monkeypatch):
    """What is asked for, on a machine of three cores of which two may be used; one thread runs, on core 2."""
    made = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: made.append(cores), raising=False)
    monkeypatch.setattr(another_core, "_running", lambda: 1)
    monkeypatch.setattr(another_core, "_current", lambda: 2)
    return made


def test_a_thread_leaves_its_core_and_may_run_where_it_could_before(asked):
    assert Core().leave()
    assert asked == [{1}, {1, 2}]


def test_it_leaves_again_only_when_the_balancer_had_its_time(asked, monkeypatch):
    core, now = Core(), [100.0]
    monkeypatch.setattr(another_core.time, "monotonic", lambda: now[0])
    assert [core.leave(), core.leave()] == [True, False]
    now[0] += another_core.CORE_LEFT_EVERY
    assert core.leave()
    assert len(asked) == 4


def test_it_stays_where_all_cores_have_work(asked, monkeypatch):
    monkeypatch.setattr(another_core, "_running", lambda: 3)
    assert not Core().leave()
    assert asked == []


def test_it_stays_where_there_is_one_core_or_the_system_does_not_say(asked, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2})
    assert not Core().leave()

    def missing():
        raise FileNotFoundError("/proc")

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2})
    monkeypatch.setattr(another_core, "_running", missing)
    assert not Core().leave()
    assert asked == []


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_what_the_system_says_is_read_and_the_cores_that_are_allowed_stay_the_same(monkeypatch):
    before = os.sched_getaffinity(0)
    assert another_core._running() >= 1 and another_core._current() in before
    monkeypatch.setattr(another_core, "_running", lambda: 1)
    assert Core().leave() == (len(before) > 1)
    assert os.sched_getaffinity(0) == before
