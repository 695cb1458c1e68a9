"""The lines that a training in a terminal says: who joined, how far it is, what validation found, the end."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from course.training import Validate, linear_regression, train_in_turns
from course.training.hooks import progress
from course.training.hooks.progress import SayParameters, SayProgress
from course.training.records import Event

TURNS = partial(train_in_turns, linear_regression(), optimizer=partial(torch.optim.SGD, lr=0.02))


@pytest.fixture
def clock(monkeypatch):
    """A clock of seconds that only the test moves."""
    now = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


class Line(type(linear_regression())):
    def validate(self, parameters):
        return {"error": abs(parameters["slope"].item() - 2)}


def test_everybody_who_joins_each_look_and_the_end_are_said():
    lines = []
    line = linear_regression()
    held = Line(line.x, line.y, 2.0, 10.0, 20)
    sgd = partial(torch.optim.SGD, lr=0.02)
    train_in_turns(
        held, optimizer=sgd, workers=2, total_steps=40, hooks=[Validate(every=20), SayProgress(lines.append)]
    )
    assert lines[0] == "/job:worker/task:0 has joined: its first gradient is in step 1"
    assert lines[1].startswith("1 of 40 updates · loss ")
    assert lines[2] == "/job:worker/task:1 has joined: its first gradient is in step 2"
    assert [text.split(",")[0] for text in lines if "validated" in text] == ["step 20: validated", "step 40: validated"]
    assert lines[-1] == "40 of 40 updates"


def test_the_parameters_are_said_every_so_many_updates_with_the_version_that_they_are_of():
    lines = []
    TURNS(mode="sync", workers=2, total_steps=20, hooks=[SayParameters(lines.append, 10)])
    assert [line.split(",")[0] for line in lines] == ["step: 10", "step: 20"]
    lines.clear()
    result = TURNS(total_steps=20, hooks=[SayParameters(lines.append, 10)])
    slope, intercept = result.parameters["slope"], result.parameters["intercept"]
    assert [line.split(",")[0] for line in lines] == ["step: 10", "step: 20"]
    loss = result.history["loss"][-1]
    assert lines[-1] == f"step: 20, slope: {slope:g}, intercept: {intercept:g}, loss: {loss:g}"


def test_lines_come_every_two_seconds_and_after_a_while_more_rarely(clock):
    lines, times = [], []
    hook = SayProgress(lambda line: (lines.append(line), times.append(clock[0])))

    class Slow(type(hook)):
        def after_run(self, session, step):
            clock[0] += 0.5
            super().after_run(session, step)

    hook.__class__ = Slow
    TURNS(total_steps=1000, hooks=[hook])
    pauses = [later - sooner for sooner, later in zip(times[1:-1], times[2:-1], strict=False)]
    assert pauses[:10] == [2.0] * 10 and max(pauses) > 10
    assert all("2 a second" in line for line in lines[2:-1])


def test_what_happens_is_said_with_its_task_and_reason():
    lines = []
    hook = SayProgress(lines.append)
    hook.event(None, Event(1.0, "worker lost", "/job:worker/task:1", 7, "it is gone"))
    hook.event(None, Event(1.0, "restored", "", 5))
    assert lines == ["step 7: /job:worker/task:1: worker lost (it is gone)", "step 5: restored"]
