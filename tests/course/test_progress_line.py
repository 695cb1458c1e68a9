"""A line that comes only when work is long: in a terminal it renews itself and goes; elsewhere it says nothing."""

import io
import threading
from types import SimpleNamespace

import pytest

from course.progress_line import STATIC_TWINS, LateLine, _TerminalLine


@pytest.fixture
def screen(monkeypatch):
    """What a terminal was written, as it is found by `progress_line`."""
    monkeypatch.delenv(STATIC_TWINS, raising=False)
    terminal = io.StringIO()
    monkeypatch.setattr("course.progress_line.progress_line", lambda: _TerminalLine(terminal))
    return terminal


@pytest.fixture
def clock(monkeypatch):
    """A list whose last number is the present second."""
    now = [0.0]
    monkeypatch.setattr("course.progress_line.time", SimpleNamespace(monotonic=lambda: now[-1]))
    return now


def worked(clock, seconds=10, of=100):
    with LateLine("parts") as line:
        for second in range(seconds + 1):
            clock.append(float(second))
            line.look(second * 10, of)


def test_short_work_says_nothing(screen, clock):
    worked(clock, seconds=1)
    assert screen.getvalue() == ""


def test_long_work_says_how_much_is_done_and_left_and_leaves_an_empty_line(screen, clock):
    worked(clock)
    first, *_ = said = screen.getvalue().strip("\r").split("\r")
    assert first.strip() == "20 of 100 parts · 8 s left" and "90 of 100 parts · 1 s left" in screen.getvalue()
    assert said[-1].strip() == "" and "\n" not in screen.getvalue()


def test_what_was_done_before_does_not_count_as_speed(screen, clock):
    with LateLine("updates") as line:
        line.look(500, 1000)
        clock.append(5.0)
        line.look(600, 1000)
    assert "600 of 1,000 updates · 20 s left" in screen.getvalue()


def test_outputs_that_are_stored_have_none_of_it(screen, clock, monkeypatch):
    monkeypatch.setenv(STATIC_TWINS, "1")
    worked(clock)
    assert screen.getvalue() == ""


def test_another_thread_says_nothing(screen, clock):
    thread = threading.Thread(target=worked, args=(clock,))
    thread.start()
    thread.join()
    assert screen.getvalue() == ""
