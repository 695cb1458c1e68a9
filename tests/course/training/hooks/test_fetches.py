"""What a hook asks for before a step, and gets after it."""

from functools import partial

import pytest
import torch

from course.training import Hook, SaveCheckpoint, Step, Validate, WriteSummaries, linear_regression, train_in_turns
from course.training.hooks.base import Session
from course.training.hooks.fetches import ask, orders, tell

SGD = partial(torch.optim.SGD, lr=0.02)


class Asking(Hook):
    """Asks for `fetches` before every `every`-th step; keeps what came, by step."""

    def __init__(self, fetches, every=1):
        self.fetches, self.every, self.got = fetches, every, {}

    def before_run(self, session):
        return self.fetches if session.step % self.every == 0 else None

    def after_run(self, session, step):
        self.got[step.step] = step.values


def turns(*hooks, total_steps=4, **settings):
    problem = linear_regression()
    return train_in_turns(problem, optimizer=SGD, total_steps=total_steps, hooks=hooks, **settings)


def test_a_hook_gets_what_it_asked_for_in_the_form_that_it_asked_in():
    single, several, by_name = Asking("slope"), Asking(["slope", "version"]), Asking({"m": "slope", "at": "version"})
    computed, nothing = Asking(lambda parameters: float(parameters["slope"]) * 2), Asking(None)
    result = turns(single, several, by_name, computed, nothing)
    last = result.parameters["slope"]
    assert torch.equal(single.got[4], last) and computed.got[4] == float(last) * 2
    assert torch.equal(several.got[4][0], last) and several.got[4][1] == 4
    assert torch.equal(by_name.got[4]["m"], last) and by_name.got[4]["at"] == 4
    assert nothing.got == dict.fromkeys(range(1, 5))
    assert [several.got[step][1] for step in range(1, 5)] == [1, 2, 3, 4], "values of the step that is told"


def test_a_hook_asks_anew_before_each_step_and_what_it_gets_is_its_own():
    seldom, always = Asking("slope", every=2), Asking("slope")
    turns(seldom, always)
    assert [value is not None for value in seldom.got.values()] == [True, False, True, False]
    assert seldom.got[1] is not always.got[1]
    seldom.got[1].fill_(9)
    assert always.got[1] != 9


def test_a_hook_that_orders_copies_of_some_steps_can_fetch_those_alone():
    class Seldom(Asking):
        copies_every = 2

    hook = Seldom("version", every=2)
    with pytest.raises(ValueError, match=r"Seldom.before_run asks for values of step 1; with copies_every = 2"):
        turns(hook)
    hook.before_run = lambda session: "version" if session.step % 2 else None
    turns(hook)
    assert hook.got == {1: None, 2: 2, 3: None, 4: 4}


def test_copies_are_ordered_for_fetches_checkpoints_validations_and_histograms(tmp_path):
    class Seldom(Asking):
        copies_every = 50

    plain, saving = (
        [Hook(), SaveCheckpoint(seconds=1), WriteSummaries(tmp_path, histograms=None)],
        SaveCheckpoint(steps=9),
    )
    assert orders(plain) == [] and orders([*plain, Asking(None)]) == [(1, False)]
    assert orders([Seldom("slope"), saving, Validate(9), WriteSummaries(tmp_path)]) == [
        (9, False),
        (9, True),
        (50, False),
        (1000, False),
    ]


def test_a_step_of_which_no_copy_was_kept_is_told_without_values():
    session, hook = Session(9, dict, dict, lambda step: None), Asking("slope")
    session.hooks = (hook,)
    ask(session)
    tell(session, Step(1, 0, 0, 1.0, 0.0, 0.0))
    assert hook.got == {1: None}


@pytest.mark.parametrize("fetches", ["slop", ["slope", "slop"], {"a": "slop"}, 3, [3]])
def test_what_cannot_be_fetched_is_refused_with_what_can(fetches):
    with pytest.raises(ValueError, match=r"Asking.before_run.*(slop|3).*slope, intercept or version"):
        turns(Asking(fetches))
