"""Chapter 06's exercises: a push with its version, staleness, a synchronous mean, a hook."""

from types import SimpleNamespace

from course.checks.exercise import Exercise


def _pushes_on_one_number():
    yield (0.0, 0, 1.0, 0, 1.0)
    yield (10.0, 0, 2.0, 0, 0.5)
    yield (1.0, 3, -1.0, 2, 0.1)
    yield (-2.0, 9, 4.0, 0, 0.25)


def _push(w, version, gradient, pulled_version, learning_rate):
    return w - learning_rate * gradient, version + 1, version - pulled_version


def _arrivals():
    yield ([],)
    yield ([0],)
    yield ([0, 0],)
    yield ([0, 1, 1],)
    yield ([0, 0, 0, 1, 2, 3, 4],)
    yield ([0, 1, 2, 0, 4],)


def _staleness(pulled_versions):
    return [number - version for number, version in enumerate(pulled_versions)]


def _synchronous_cases():
    yield ([(0, 5, 2.0)], 5, 1)
    yield ([(1, 0, 3.0), (0, 0, 1.0)], 0, 2)
    yield ([(0, 0, 9.0), (0, 1, 1.0), (1, 1, 3.0)], 1, 2)  # a gradient from an older version
    yield ([(0, 4, 1.0), (0, 4, 100.0), (1, 4, 2.0)], 4, 2)  # the same worker twice
    yield ([(2, 1, 1.0), (1, 1, 2.0), (0, 1, 60.0)], 1, 2)  # one more than is needed


def _synchronous_mean(pushes, version, needed):
    used = {}
    for worker, pulled, gradient in pushes:
        if pulled == version and worker not in used and len(used) < needed:
            used[worker] = gradient
    return sum(used[worker] for worker in sorted(used)) / needed


_LOSSES = [9.0, 4.0, 0.9, 2.0, 0.3, 0.04, 0.2]


def _stops_where_it_should(hook, limit):
    reasons = []
    session = SimpleNamespace(step=0, limit=len(_LOSSES), request_stop=reasons.append)
    for name in ("begin", "before_run", "after_run", "end"):
        if not callable(getattr(hook, name, None)):
            return f"a hook has a method {name}; derive yours from training.Hook"
    hook.begin(session)
    for number, loss in enumerate(_LOSSES, start=1):
        hook.before_run(session)
        session.step = number
        hook.after_run(session, SimpleNamespace(step=number, worker=0, version=number - 1, staleness=0, loss=loss))
        if bool(reasons) != any(earlier < limit for earlier in _LOSSES[:number]):
            did = "it asked to stop" if reasons else "it did not ask to stop"
            return f"after the losses {_LOSSES[:number]}, {did}"
    return True


EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "push",
            _pushes_on_one_number,
            _push,
            hint="every push makes a new version; staleness is counted before that.",
        ),
        Exercise("staleness", _arrivals, _staleness, hint="before the first push the store is at version 0."),
        Exercise(
            "synchronous_mean",
            _synchronous_cases,
            _synchronous_mean,
            hint="leave out what was computed at another version, and count each worker once.",
        ),
        Exercise(
            "loss_below",
            lambda: [(100.0,), (5.0,), (1.0,), (0.1,), (0.01,)],
            accepts=_stops_where_it_should,
            hint="after_run(self, session, step) may call session.request_stop('why').",
        ),
    ]
}
