"""Chapter 06's exercises: a push, staleness, a synchronous mean, a hook, pushes taken once, what may be restored."""

from types import SimpleNamespace

from course.checks.exercise import Exercise, by_name


def _push(w, version, gradient, pulled_version, learning_rate):
    return w - learning_rate * gradient, version + 1, version - pulled_version


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


def _arrived_pushes():
    # (incarnation, session, sequence number), in order of arrival, and the store's own incarnation
    yield ([], 1)
    yield ([(1, "a", 1)], 1)
    yield ([(1, "a", 1), (1, "a", 1)], 1)  # sent again, since the answer was lost
    yield ([(1, "a", 1), (1, "b", 1)], 1)  # two sessions count apart
    yield ([(1, "a", 1), (2, "a", 1), (1, "a", 2)], 2)  # from before the restore
    yield ([(1, "a", 1), (1, "a", 2), (1, "b", 1), (1, "a", 1), (1, "b", 1), (1, "a", 3)], 1)
    yield ([(1, "a", 9), (2, "a", 4)], 2)  # a refused push leaves no trace in the table


def _taken_once(pushes, incarnation):
    taken = []
    for push in pushes:
        if push[0] == incarnation and push not in taken:
            taken.append(push)
    return taken


def _checkpoint_folders():
    # (step of the manifest, step that each shard's file was cut at, whether each file's checksum is right)
    yield ([],)
    yield ([(50, [50, 50], [True, True])],)
    yield ([(50, [50, 50], [True, True]), (90, [90, 90], [True, True])],)
    yield ([(50, [50, 50], [True, True]), (90, [90, 90], [True, False])],)  # torn
    yield ([(50, [50, 50], [True, True]), (90, [90, 88], [True, True])],)  # no cut: two shards of different moments
    yield ([(90, [90, 90], [True, True]), (50, [50, 50], [True, True])],)  # a folder has no order
    yield ([(90, [88, 88], [True, True])],)  # not what the manifest says
    yield ([(50, [50], [False])],)


def _restorable(checkpoints):
    good = [step for step, cuts, right in checkpoints if all(right) and all(cut == step for cut in cuts)]
    return max(good, default=0)


EXERCISES = by_name(
    Exercise(
        "push",
        lambda: [(0.0, 0, 1.0, 0, 1.0), (10.0, 0, 2.0, 0, 0.5), (1.0, 3, -1.0, 2, 0.1), (-2.0, 9, 4.0, 0, 0.25)],
        _push,
        hint="every push makes a new version; staleness is counted before that.",
    ),
    Exercise(
        "staleness",
        lambda: [([],), ([0],), ([0, 0],), ([0, 1, 1],), ([0, 0, 0, 1, 2, 3, 4],), ([0, 1, 2, 0, 4],)],
        _staleness,
        hint="before the first push the store is at version 0.",
    ),
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
    Exercise(
        "taken_once",
        _arrived_pushes,
        _taken_once,
        hint="a push is known by all three of its numbers; one of another incarnation is refused.",
    ),
    Exercise(
        "restorable",
        _checkpoint_folders,
        _restorable,
        hint="every checksum is right, and every shard was cut at the manifest's step; 0 where there is none.",
    ),
)
