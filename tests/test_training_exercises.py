"""Chapter 06's checks: pass a right answer, notice a plausible wrong one, and leave a stub alone."""

import pytest

from course.checks import check
from course.training import Hook


def loss_below(limit):
    class LossBelow(Hook):
        def after_run(self, session, step):
            if step.loss < limit:
                session.request_stop("low enough")

    return LossBelow()


def last_loss_below(limit):
    class TooLate(Hook):
        loss = float("inf")

        def before_run(self, session):
            if self.loss < limit:
                session.request_stop("one step late")

        def after_run(self, session, step):
            self.loss = step.loss

    return TooLate()


def synchronous_mean(pushes, version, needed):
    used = {}
    for worker, pulled, gradient in pushes:
        if pulled == version and len(used) < needed:
            used.setdefault(worker, gradient)
    return sum(used.values()) / needed


RIGHT = {
    "push": lambda w, version, gradient, pulled, rate: (w - rate * gradient, version + 1, version - pulled),
    "staleness": lambda pulled: [at - version for at, version in enumerate(pulled)],
    "synchronous_mean": synchronous_mean,
    "loss_below": loss_below,
}
WRONG = [
    ("push", lambda w, version, gradient, pulled, rate: (w + rate * gradient, version + 1, version - pulled)),
    ("push", lambda w, version, gradient, pulled, rate: (w - rate * gradient, version, version - pulled)),
    ("push", lambda w, version, gradient, pulled, rate: (w - rate * gradient, version + 1, version + 1 - pulled)),
    ("push", lambda w, version, gradient, pulled, rate: (w - rate * gradient, pulled + 1, version - pulled)),
    ("staleness", lambda pulled: [at + 1 - version for at, version in enumerate(pulled)]),
    ("staleness", lambda pulled: [0] * len(pulled)),
    ("staleness", lambda pulled: [max(pulled) - version for version in pulled]),
    ("synchronous_mean", lambda pushes, version, needed: sum(g for _, _, g in pushes) / len(pushes)),
    ("synchronous_mean", lambda pushes, version, needed: sum(g for _, v, g in pushes if v == version) / needed),
    ("synchronous_mean", lambda pushes, version, needed: sum(g for _, v, g in pushes[:needed]) / needed),
    ("synchronous_mean", lambda pushes, version, needed: sum({w: g for w, _, g in pushes}.values()) / needed),
    ("loss_below", lambda limit: Hook()),
    ("loss_below", lambda limit: object()),
    ("loss_below", lambda limit: loss_below(2 * limit)),
    ("loss_below", last_loss_below),
]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes(name):
    assert check(_named(name, RIGHT[name])).state == "passed"


@pytest.mark.parametrize(("name", "answer"), WRONG, ids=[f"{name}-{i}" for i, (name, _) in enumerate(WRONG)])
def test_a_plausible_wrong_answer_is_noticed(name, answer):
    assert check(_named(name, answer)).state == "wrong"


@pytest.mark.parametrize("name", RIGHT)
def test_a_stub_is_not_yet_an_answer(name):
    assert check(_named(name, lambda *arguments: ...)).state == "not yet"


def _named(name, answer):
    def wrapper(*arguments):
        return answer(*arguments)

    wrapper.__name__ = name
    return wrapper
