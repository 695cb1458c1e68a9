"""Asking, against a script in place of a sandbox: what is sent, how long it may take, what is made of what comes."""

import json
import struct
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from grader.lab.spec import Case, Exercise, Host, Lab, Marking, Race
from grader.marking import messages as module
from grader.marking.messages import Messages
from grader.marking.questions import Answer, SandboxedSubmission, SetUpFailed, Stopped
from grader.marking.result_types import Array, Integer, Json, Malformed, Text
from grader.sandbox import SandboxStopped
from tests.grader.marking.scripted_pipes import ScriptedPipes, ScriptedSandboxes, text

CASE = Case((3,))
LAST = 490 * "-" + "no memory!"  # as much of what was written as is told
SEVEN = b"v" + (7).to_bytes(16, "little")


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    monkeypatch.setattr("grader.marking.questions.patience", lambda: 3.0)


def exercise(evidence=None, **more):
    race = more.pop("race", None)
    host = more.pop("host", None)
    return Marking(Exercise("fast", list, **more), evidence or Integer(), race=race, host=host, seconds=50.0)


def submission(*pipes, cells=("a = 1", "b = 2"), asked=10.0, marking=None, **lab):
    sandboxes = ScriptedSandboxes(*pipes)
    made = SandboxedSubmission(Lab("lab", (marking or exercise(),), **lab), cells, sandboxes, asked)
    return made, sandboxes


def ran(report="[]"):
    return b"".join(b"c" + struct.pack("<I", number) for number in range(2)) + b"r" + text(report)


# --- running the cells -----------------------------------------------------------------------------------------------


def test_cells_files_and_imports_are_sent_and_the_errors_of_cells_come_back(tmp_path):
    (tmp_path / "board.rle").write_bytes(b"bob$")
    pipes = ScriptedPipes(ran(json.dumps([[1, "KeyError" + 600 * "!"]])))
    mine, sandboxes = submission(pipes, files=("board.rle",), imports=("math",), folder=tmp_path, asked=50.0)
    with mine:
        mine.run_cells()
    assert pipes.sent == [{"cells": ["a = 1", "b = 2"], "files": {"board.rle": b"bob$"}, "imports": ["math"]}]
    assert list(mine.errors) == [1] and mine.errors[1].startswith("KeyError!") and len(mine.errors[1]) == 600
    (profile,) = sandboxes.profiles
    assert profile.seconds >= 3 * (30 + 30 + 50), "to set up, what the lab gives its cells, and what is asked"
    assert profile.network == "none"
    assert mine.ended is not None and pipes.closed


@pytest.mark.parametrize("report", ["{", "3", "[3]", "[[1]]", '[["x", 1]]', "[" * 60_000, '{"a": 1}'])
def test_a_forged_report_of_errors_is_no_report(report):
    mine, _ = submission(ScriptedPipes(ran(report)))
    mine.run_cells()
    assert mine.errors == {}


def test_the_time_of_the_cells_begins_with_the_first_of_them():
    pipes = ScriptedPipes(ran())
    mine, _ = submission(pipes, asked=2000.0, seconds=200.0)
    began = time.monotonic()
    mine.run_cells()
    assert all(30 < until - began < 90 for until in pipes.until[:2]), "setting up has a minute of its own"
    assert all(500 < until - began < 700 for until in pipes.until[-4:]), "as long as the lab says, and patience"


@pytest.mark.parametrize(
    ("written", "limit", "raised", "says", "cell"),
    [
        ([b"i", text("no module named torch")], "silent", SetUpFailed, "no module named torch", None),
        ([], "silent", SetUpFailed, f"it closed the pipe .*: {LAST}$", None),
        ([b"c", struct.pack("<I", 0)], "silent", Stopped, "it ended the Python that ran it", 0),
        ([ran()[:10]], "memory", Stopped, "it used more memory than it may", 1),
        ([ran()[:10]], "time", Stopped, "it did not come to an end in time", 1),
        ([b"c", struct.pack("<I", 0), b"i"], "silent", Stopped, "something other than the notebook wrote", None),
        ([b"x"], "silent", Stopped, "something other than the notebook wrote to its grader: b'x' where a cell", None),
        ([b"r", struct.pack("<I", 65537)], "silent", Stopped, "a text of 65537 bytes; the limit is 65536", None),
    ],
)
def test_cells_that_do_not_all_run_are_told_by_whose_fault_it_is(written, limit, raised, says, cell):
    mine, _ = submission(ScriptedPipes(*written, limit=limit, stderr=f"a{LAST}\n"))
    with pytest.raises(raised, match=says) as error:
        mine.run_cells()
    assert getattr(error.value, "cell", None) == cell


def test_a_sandbox_that_ends_without_cells_is_the_submissions_end():
    mine, _ = submission(ScriptedPipes(limit="cpu"), cells=())
    with pytest.raises(Stopped, match="did not come to an end") as error:
        mine.run_cells()
    assert error.value.state == "timed_out"


# --- asking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ([SEVEN], Answer("value", 7)),
        ([b"e", text("KeyError: 3")], Answer("raised", text="KeyError: 3")),
        ([b"k", text("a str")], Answer("other kind", text="a str")),
        ([b"a", text("")], Answer("absent")),
        ([b"a", text("x" * 4096)], Answer("absent", text="x" * 4096)),
    ],
)
def test_an_answer_is_one_of_four_sorts(written, answer):
    pipes = ScriptedPipes(*written)
    mine, _ = submission(pipes)
    began = time.monotonic()
    got = mine.ask(exercise(), CASE)
    assert replace(got, seconds=0.0) == answer and answer.seconds == 0 <= got.seconds < 60
    assert pipes.sent[0]["entry"] == "fast" and pipes.sent[0]["arguments"] == (3,)
    assert all(140 < until - began < 200 for until in pipes.until), "as long as the exercise says, and patience"


@pytest.mark.parametrize(
    ("written", "limit", "says", "state"),
    [
        ([b"x"], "silent", "it gave b'x' where an answer was to begin, where a whole number was asked for", "crashed"),
        ([b"e", struct.pack("<I", 4097)], "silent", "a text of 4097 bytes; the limit is 4096", "crashed"),
        ([], "silent", "it ended the Python that ran it", "crashed"),
        ([], "closed", "it ended the Python that ran it", "crashed"),
        ([], "processes", "it started more processes than it may", "crashed"),
        ([b"v"], "time", "it did not come to an end in time", "timed_out"),
        ([b"v"], "cpu", "it did not come to an end in time", "timed_out"),
    ],
)
def test_who_gives_no_answer_is_stopped(written, limit, says, state):
    mine, _ = submission(ScriptedPipes(*written, limit=limit))
    with pytest.raises(Stopped, match=says) as error:
        mine.ask(exercise(), CASE)
    assert error.value.state == state


def test_a_value_that_is_more_than_a_judge_should_look_at_is_of_another_kind_and_the_next_can_be_asked():
    deep = json.dumps([10**310])
    mine, _ = submission(ScriptedPipes(b"v" + text(deep), SEVEN))
    got = mine.ask(exercise(Json()), CASE)
    assert got.kind == "other kind" and "a whole number of 1030 bits" in got.text
    assert mine.ask(exercise(), CASE).value == 7


@pytest.mark.parametrize(
    ("used", "raced", "seconds"),
    [((1.5, 1.75), True, 0.25), ((), True, None), ((1.5, None), True, None), ((1, 9), False, None)],
)
def test_a_race_is_counted_in_processor_time_and_where_there_is_none_by_the_clock(used, raced, seconds):
    race = Race("reference", 2.0, lambda draw, answer: (answer,)) if raced else None
    mine, _ = submission(ScriptedPipes(SEVEN, used=used))
    got = mine.ask(exercise(race=race), CASE).seconds
    assert got == seconds if seconds is not None else 0 <= got < 60


def test_arrays_become_tensors_where_the_exercise_says_so_however_deep_they_lie():
    arguments = (np.arange(2), [np.ones(1), (3, {"a": np.zeros(1)})], "text")
    for tensors, kind in ((True, torch.Tensor), (False, np.ndarray)):
        pipes = ScriptedPipes(SEVEN)
        submission(pipes)[0].ask(exercise(tensors=tensors), Case(arguments))
        one, (two, (three, four)), words = pipes.sent[0]["arguments"]
        assert all(isinstance(value, kind) for value in (one, two, four["a"])) and (three, words) == (3, "text")
        assert one.tolist() == [0, 1]


# --- messages --------------------------------------------------------------------------------------------------------


def test_after_the_deadline_nothing_more_is_read_even_where_it_is_there():
    pipes = ScriptedPipes(b"abc")
    with pytest.raises(SandboxStopped, match="longer than it may"):
        Messages(pipes).receive(1, time.monotonic() - 1)
    assert pipes.ended.limit == "time" and pipes.closed


def test_of_nothing_nothing_is_read():
    assert Messages(ScriptedPipes()).receive(0, time.monotonic() + 5) == b""


def test_one_answer_has_a_most_whatever_its_kinds_allow_together(monkeypatch):
    assert module.MOST == 128 << 20
    monkeypatch.setattr(module, "MOST", 8)

    class Both(Text):
        def read(self, take):
            return [take(4), take(self.limit)]

    ending = time.monotonic() + 60
    assert Messages(ScriptedPipes(b"abcdefgh")).value(Both(4), ending) == [b"abcd", b"efgh"]
    with pytest.raises(Malformed, match="more than 8 bytes in all"):
        Messages(ScriptedPipes(b"abcdefghi")).value(Both(5), ending)


@pytest.mark.parametrize("raised", [ValueError("odd"), OverflowError("odd"), MemoryError("odd"), MemoryError()])
def test_a_value_that_cannot_be_held_is_malformed(raised):
    class Odd(Text):
        def read(self, take):
            raise raised

    with pytest.raises(Malformed, match="odd|more than can be held"):
        Messages(ScriptedPipes()).value(Odd(), time.monotonic() + 60)


def test_an_endless_shape_is_malformed_and_ends_the_asking():
    written = b"v" + struct.pack("<4Q", 0, 2**60, 2**60, 2**60)
    mine, _ = submission(ScriptedPipes(written))
    with pytest.raises(Stopped, match="where an array of uint8"):
        mine.ask(exercise(Array("uint8", (None,) * 4)), CASE)


# --- a companion -----------------------------------------------------------------------------------------------------

HOST = exercise(host=Host("drive", "class Host", Json()))
UP = b"h" + text("5000")


def asked(first, *companions):
    mine, sandboxes = submission(first, *companions, marking=HOST)
    with mine:
        answers = [mine.ask(HOST, Case((3,), plan="plan"))]
    return answers[0], sandboxes


def test_what_the_host_saw_lies_beside_the_answer():
    first, host = ScriptedPipes(SEVEN), ScriptedPipes(UP, b"v" + text("[1]"))
    answer, sandboxes = asked(first, host)
    assert (answer.kind, answer.value.gave, answer.value.seen) == ("value", 7, [1])
    assert host.sent[0]["host"] == "class Host" and host.sent[0]["plan"] == "plan" and host.sent[1:] == [None]
    assert first.sent[0]["arguments"] == (5000, 3), "the address comes first"
    assert [profile.network for profile in sandboxes.profiles] == ["loopback", "loopback"]
    assert host.closed and sandboxes.profiles[1].memory == 256 << 20


def test_an_answer_that_is_no_value_is_told_without_what_the_host_saw():
    answer, _ = asked(ScriptedPipes(b"e", text("KeyError")), ScriptedPipes(UP, b"v" + text("[1]")))
    assert (answer.kind, answer.text) == ("raised", "KeyError")


BROKEN = "what it worked against broke down: "


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ([], "it closed the pipe on which it answers"),
        ([b"e", text("seen() raised")], "seen\\(\\) raised"),
        ([b"v" + text("{")], "text that is not JSON"),
    ],
)
def test_a_host_that_breaks_down_once_is_forgiven_and_twice_is_the_answers_doing(ends, says):
    first, host = ScriptedPipes(SEVEN, SEVEN), ScriptedPipes(UP, *ends)
    answer, _ = asked(first, host, ScriptedPipes(UP, b"v" + text("[2]")))
    assert (answer.kind, answer.value.seen) == ("value", [2]) and host.closed
    again = [ScriptedPipes(UP, *ends) for _ in range(2)]
    answer, _ = asked(ScriptedPipes(SEVEN, SEVEN), *again)
    assert (answer.kind, answer.value) == ("raised", None) and answer.text.startswith(BROKEN)
    assert all(host.closed for host in again)


@pytest.mark.parametrize(
    ("written", "says"),
    [([], f"the host ended: .*: {LAST}$"), ([b"e", text("odd plan")], "did not start: odd plan")],
)
def test_a_host_that_does_not_come_up_is_the_graders_mistake(written, says):
    with pytest.raises(RuntimeError, match=says):
        asked(ScriptedPipes(), ScriptedPipes(*written, stderr=f"a{LAST}\n"))


def test_a_host_that_ends_because_the_submission_has_ended_is_told_as_the_submissions_end():
    first = ScriptedPipes()
    first.stop("memory")
    with pytest.raises(Stopped, match="it used more memory than it may"):
        asked(first, ScriptedPipes())
