"""Mistakes that lie in no input are told in their own sentences; a check ends, and stops nothing, whatever it gets."""

import asyncio
import threading
import time

import pytest
import torch
from hypothesis import strategies

from course.checks import Exercise, check
from course.checks.check import Attempts, _function
from course.checks.discovery import check_files_of_the_checkout, exercises_in
from course.checks.time_limit import TimeIsUp, time_limit

double = Exercise("double", lambda: [(n,) for n in range(4)], expected=lambda n: 2 * n, hint="Twice.")
LIMIT = 0.3  # seconds of work: the patience of these tests


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setitem(_function.__globals__, "CHECKED_ANSWER_WORKS", LIMIT)
    monkeypatch.setitem(_function.__globals__, "CHECKED_ANSWER_WAITS", 4 * LIMIT)


def of(source, name="double"):
    """Return the function `name` that `source`, a cell of a notebook, defines; its lines are known as a cell's are."""
    import linecache

    file = f"<cell {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {}
    exec(compile(source, file, "exec"), names)
    return names[name]


def loops(n):
    while n == 2:
        pass
    return 2 * n


def loops_and_catches(n):
    while n == 2:
        try:
            while True:
                pass
        except:  # noqa: E722
            n = 3 if n == 3 else n
            if stop.is_set():
                return 0
            stop.set()
    return 2 * n


stop = threading.Event()


def sleeps(n):
    if n == 2:
        time.sleep(3600)
    return 2 * n


@pytest.mark.parametrize("answer", [loops, sleeps])
def test_an_input_that_hangs_is_stopped_and_is_the_counterexample(impatient, answer):
    verdict = _function(double, answer)
    assert verdict.state == "wrong" and verdict.message.startswith("double(2)\nhad not come back after 0.3 s or more")
    assert "while n == 2:" in verdict.message or "pass" in verdict.message or "time.sleep(3600)" in verdict.message


def test_an_answer_that_catches_everything_is_stopped_all_the_same(impatient):
    stop.clear()
    assert "double(2)" in _function(double, loops_and_catches).message


def test_an_input_that_hangs_is_stopped_in_a_thread_that_is_not_the_main_one(impatient):
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(_function(double, loops)))
    thread.start()
    thread.join(60)
    assert not thread.is_alive() and verdicts[0].message.startswith("double(2)\nhad not come back")


def test_a_drawn_input_that_hangs_ends_the_search(impatient):
    def drawn():
        return strategies.tuples(strategies.integers(0, 10**6))

    calls = []

    def hangs_on_large(n):
        calls.append(n)
        while n > 1000:
            pass
        return 2 * n

    verdict = _function(Exercise("double", lambda: [(1,)], lambda n: 2 * n, inputs=drawn), hangs_on_large)
    assert "had not come back" in verdict.message and sum(n > 1000 for n in calls) == 1


def test_an_answer_that_waits_for_its_turn_on_a_busy_machine_is_not_stopped():
    began = time.process_time()
    with time_limit(works=1000, waits=1000):
        pass
    with time_limit(works=0.5, waits=1000):
        time.sleep(0.6)  # the alarm rings, and hardly any work has been done
    assert time.process_time() - began < 0.5


def test_a_loop_on_a_busy_machine_is_ended_before_it_has_worked_as_long_as_elsewhere(monkeypatch):
    monkeypatch.setitem(time_limit.__wrapped__.__globals__, "BUSY_WORKS", 0.05)
    monkeypatch.setitem(time_limit.__wrapped__.__globals__, "BUSY_WAITS", 0.1)
    with pytest.raises(TimeIsUp), time_limit(works=1000, waits=1000):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pass
    monkeypatch.setitem(time_limit.__wrapped__.__globals__, "BUSY_WORKS", 1000)
    with time_limit(works=1000, waits=1000):
        time.sleep(0.3)


def test_all_inputs_together_have_a_limit_too(monkeypatch):
    monkeypatch.setitem(_function.__globals__, "CHECK", 0.0)
    verdict = _function(double, lambda n: 2 * n)
    assert verdict.state == "wrong" and "Too slow to try more" in verdict.message


def test_a_limit_leaves_an_alarm_that_was_set_before_as_it_was():
    import signal

    if not hasattr(signal, "SIGALRM"):
        pytest.skip("this system has no alarms")
    before, handler = signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeIsUp), time_limit(0.05, 0.05):
        threading.Event().wait(3600)
    after = signal.getitimer(signal.ITIMER_REAL)
    assert signal.getsignal(signal.SIGALRM) is handler and (after[0] > 0) == (before[0] > 0) and after[0] <= before[0]


def test_printing_is_told_from_returning(capsys):
    verdict = _function(double, lambda n: print(2 * n))
    assert verdict.state == "wrong" and "printed '0' and returned nothing" in verdict.message
    assert "`return` gives it back" in verdict.message and "0\n" in capsys.readouterr().out
    assert _function(double, lambda n: None).state == "not yet"
    assert _function(double, lambda n: print("here") or 2 * n)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda: 0, "double(): too many positional arguments"),
        (lambda n, m: 0, "double(n, m): missing a required argument: 'm'"),
        (lambda *, n: 0, "double(*, n): "),
    ],
)
def test_a_wrong_signature_is_told_before_anything_runs(answer, words):
    verdict = _function(double, answer)
    assert verdict.state == "wrong" and words in verdict.message and "It is called so: double(0)." in verdict.message
    assert "Its first line is `def double(n):`" in verdict.message and "raised" not in verdict.message


def test_a_type_error_inside_an_answer_is_no_wrong_signature():
    verdict = _function(double, of("def double(n):\n    return n()\n"))
    assert "raised TypeError: 'int' object is not callable (line 2: `return n()`)" in verdict.message


def test_a_driver_that_catches_exceptions_hides_no_wrong_signature():
    def careless(entry, number):
        try:
            return entry(number, abs)
        except Exception:
            return 0

    verdict = _function(Exercise("apply", lambda: [(1,)], lambda n: 2, call=careless, adds=("step",)), lambda n: 2)
    assert "apply(n): too many positional arguments. It is called so: apply(1, step)." in verdict.message


def test_a_name_that_is_not_defined_is_named_with_its_line_and_its_neighbour():
    message = _function(double, of("def double(number):\n    return 2 * nunber\n")).message
    assert "uses a name that is not defined: `nunber` (line 2: `return 2 * nunber`)" in message
    assert "Did you mean `number`?" in message and "raised" not in message
    assert "run that cell first" in _function(double, of("def double(n):\n    return zzyzx\n")).message


def test_an_answer_that_asks_python_to_end_ends_nothing():
    import sys

    assert "asked Python to end" in _function(double, lambda n: sys.exit()).message


@pytest.mark.parametrize("failure", [asyncio.CancelledError, GeneratorExit, BaseException, RecursionError])
def test_whatever_an_answer_raises_is_told(failure):
    def raises(n):
        raise failure

    assert failure.__name__ in _function(double, raises).message


def test_a_float_for_a_whole_number_is_right_with_a_remark_or_wrong_with_one():
    passed = _function(double, lambda n: 2.0 * n)
    assert passed and "A whole number was asked for: 0, not 0.0." in passed.message
    strict = Exercise("double", lambda: [(2,)], accepts=lambda got, n: type(got) is int and got == 2 * n)
    wrong = _function(strict, lambda n: 2.0 * n)
    assert not wrong and wrong.message.startswith("double(2)\ngave 4.0. A whole number was asked for: 4, not 4.0.")
    assert "whole" not in _function(strict, lambda n: 5.0).message
    half = Exercise("half", lambda: [(4,)], expected=lambda n: n / 2)
    assert "whole" not in _function(half, lambda n: n / 2).message


@pytest.mark.parametrize(
    "slip",
    [
        lambda rows, columns: print(4),
        lambda rows: 4,
        lambda rows, columns: zzyzx,  # noqa: F821
        lambda rows, columns: 1 + "1",
    ],
)
def test_a_hint_is_for_wrong_values_only(slip):
    attempts = Attempts()
    verdicts = [check(slip, "matrix_bytes", attempts) for _ in range(3)]
    assert all(verdict.state == "wrong" and "Hint" not in verdict.message for verdict in verdicts)


def test_a_hint_is_for_an_error_too_where_other_inputs_were_right():
    attempts = Attempts()

    def fails_later(rows, columns):
        return 4 * rows * columns if rows < 3 else [][0]

    messages = [check(fails_later, "matrix_bytes", attempts).message for _ in range(2)]
    assert "IndexError" in messages[0] and "Hint" not in messages[0] and "Hint" in messages[1]


class Odd:
    """A value of which nothing can be learnt."""

    def __repr__(self):
        raise RuntimeError

    __eq__ = __len__ = __iter__ = __float__ = __repr__


NAMES = [name for path in check_files_of_the_checkout() for name in exercises_in(path)]


VALUES = [(Odd(),), 7, torch.ones(2, 2), [torch.ones(3)], object()]


@pytest.mark.parametrize("values", [VALUES[:1], pytest.param(VALUES[1:], marks=pytest.mark.long)], ids=["odd", "more"])
@pytest.mark.parametrize("name", NAMES)
def test_no_check_stops_run_all_whatever_it_is_given(name, values):
    for value in values:
        for answer in (value, lambda *_, value=value, **__: value):
            verdict = check(answer, name)
            assert verdict.state in ("wrong", "not yet"), (name, type(value))
            assert " at 0x" not in repr(verdict) and "Traceback" not in repr(verdict)


def test_a_value_for_a_function_is_told():
    assert "on_the_gpu is a function to write; 7 is a value." in check(7, "on_the_gpu").message
    assert check(None, "right_stopwatch").state == "not yet"


def test_a_counterexample_is_the_same_text_in_every_run():
    verdict = check(lambda join, values: 0, "fold")
    assert verdict.message.startswith("fold(minus, [7])\ngave 0; expected 7.")
