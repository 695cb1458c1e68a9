"""Chapter 06's checks notice a plausible wrong answer."""

from course import training
from course.training import Hook
from tests.notebooks.answers import model_answers
from tests.notebooks.checked import noticed

RIGHT = model_answers("06_async_regression", training=training)


def last_loss_below(limit):
    class TooLate(Hook):
        loss = float("inf")

        def before_run(self, session):
            if self.loss < limit:
                session.request_stop("one step late")

        def after_run(self, session, step):
            self.loss = step.loss

    return TooLate()


def without_a_look_at_the_incarnation(pushes, incarnation):
    return list(dict.fromkeys(pushes))


def one_count_for_all_sessions(pushes, incarnation):
    last, taken = 0, []
    for push in pushes:
        if push[0] == incarnation and push[2] > last:
            last = push[2]
            taken.append(push)
    return taken


def counting_refused_ones_too(pushes, incarnation):
    last, taken = {}, []
    for push in pushes:
        of, session, number = push
        fresh = number > last.get(session, 0)
        last[session] = max(number, last.get(session, 0))
        if of == incarnation and fresh:
            taken.append(push)
    return taken


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
    ("loss_below", lambda limit: RIGHT["loss_below"](2 * limit)),
    ("loss_below", last_loss_below),
    ("taken_once", lambda pushes, incarnation: pushes),
    ("taken_once", lambda pushes, incarnation: [push for push in pushes if push[0] == incarnation]),
    ("taken_once", without_a_look_at_the_incarnation),
    ("taken_once", one_count_for_all_sessions),
    ("taken_once", counting_refused_ones_too),
    ("restorable", lambda checkpoints: max((step for step, _, _ in checkpoints), default=0)),
    ("restorable", lambda checkpoints: max((step for step, _, right in checkpoints if all(right)), default=0)),
    ("restorable", lambda checkpoints: max((s for s, cuts, _ in checkpoints if set(cuts) == {s}), default=0)),
    ("restorable", lambda checkpoints: max((s for s, c, r in checkpoints if all(r) and len(set(c)) == 1), default=0)),
    ("restorable", lambda checkpoints: next((s for s, c, r in checkpoints[::-1] if all(r) and set(c) == {s}), 0)),
]


test_a_plausible_wrong_answer_is_noticed = noticed(WRONG)
