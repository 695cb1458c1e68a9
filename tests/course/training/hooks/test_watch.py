"""`Watch`: what it keeps of a training is that training's, in a memory that does not grow with it."""

import threading
from collections import Counter
from functools import partial
from itertools import pairwise

import torch

from course.training import Hook, linear_regression, train_in_turns
from course.training.hooks.base import Session
from course.training.hooks.watch import Watch
from course.training.records import Event, Step

SGD = partial(torch.optim.SGD, lr=0.02)
PROBLEM = linear_regression()


def follow(watch, steps, limit=100_000):
    """Tell `watch` of steps by one worker, a hundred a second; return the session."""
    session = Session(limit, dict, lambda: None)
    watch.begin(session)
    for step in steps:
        watch._due = 0.0  # it looks at every step
        watch.after_run(session, Step(step, 0, step - 1, 1.0, 0.01 * step, 0.01 * step))
    return session


def test_it_counts_all_and_keeps_few_evenly():
    watch = Watch()
    result = train_in_turns(PROBLEM, optimizer=SGD, workers=3, total_steps=3000, hooks=[watch])
    assert watch.ended and (watch.step, watch.limit, watch.mode) == (3000, 3000, "async")
    assert watch.staleness == Counter(result.staleness.tolist())
    steps = watch.history["step"].tolist()
    assert 200 <= len(steps) <= 400 and steps[-1] > 2900
    assert len({after - before for before, after in pairwise(steps)}) == 1
    rows = {int(row["step"]): row["loss"] for row in result.history}
    assert all(rows[int(row["step"])] == row["loss"] for row in watch.history)


def test_the_rate_is_of_the_last_seconds_and_what_remains_follows_from_it():
    watch = Watch()
    follow(watch, [1])
    assert watch.rate is None and watch.remaining is None, "one look is no rate"
    follow(watch, range(1, 1001), limit=2000)
    assert abs(watch.rate - 100) < 1e-6 and abs(watch.remaining - 10) < 1e-6 and watch.fraction == 0.5
    assert len(watch._looks) < 510, "looks of five seconds"


def test_steps_that_a_restore_undid_go_and_an_event_is_shown_at_once():
    shown = []
    watch = Watch(lambda watched: shown.append(watched.step))
    session = follow(watch, [*range(1, 51), *range(31, 41)])
    assert watch.history["step"].tolist() == list(range(1, 41)) and watch.step == 40
    before = len(shown)
    watch.event(session, Event(0.4, "ps lost", "/job:ps/task:0", 40))
    assert len(shown) == before + 1 and watch.events[-1].what == "ps lost"


def test_it_may_be_stopped_from_another_thread():
    watch = Watch()

    class Elsewhere(Hook):
        def after_run(self, session, step):
            if step.step == 50:
                thread = threading.Thread(target=watch.stop, args=("from elsewhere",))
                thread.start()
                thread.join()

    result = train_in_turns(PROBLEM, optimizer=SGD, total_steps=10**6, hooks=[Elsewhere(), watch])
    assert result.stopped_by == watch.stopped_by == "from elsewhere" and watch.step < 100
    watch.stop("again")  # nothing runs
