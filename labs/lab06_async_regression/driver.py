"""How lab 06's answers are driven: stores by calls, hooks by steps, a worker by a gradient that is not exercise 1's.

The same text drives them in the notebook and in the sandbox of a submission, so it needs numpy only, and holds no
answer.
"""

from types import SimpleNamespace

import numpy as np


def tanh_gradient(w, x, y):
    """The gradient of mean(log(cosh(w[0] * x + w[1] - y))): another loss than the lab's."""
    late = np.tanh(w[0] * x + w[1] - y)
    return np.array([(late * x).mean(), late.mean()])


def drive_store(entry, w, learning_rate, max_staleness, calls, care):
    """Return what each call told: (version, w) of a pull, (staleness, empty) of a push; None on a stub.

    `care`: "" for workers that leave arrays alone; "keep": what was pulled is looked at after the last call;
    "scribble": workers write over the arrays that they gave and got.
    """
    first = np.array(w)
    store = entry(first, learning_rate, max_staleness)
    if care == "scribble":
        first += 1000.0
    told = []
    for call, *given in calls:
        if call == "pull":
            got = store.pull()
            if got is ... or got is None:
                return None
            version, pulled = got
            told.append((version, pulled if care == "keep" else np.array(pulled, float)))
            if care == "scribble" and getattr(getattr(pulled, "flags", None), "writeable", False):
                pulled += 1000.0
        else:
            gradient = np.array(given[0])
            told.append((store.push(gradient, given[1]), np.zeros(0)))
            if care == "scribble":
                gradient += 1000.0
    return [(number, np.array(values, float)) for number, values in told]


def drive_train(entry, x, y, turns, learning_rate):
    """Train by another loss's gradient."""
    return entry(x, y, turns, learning_rate, tanh_gradient)


def drive_log(entry, every, start, steps):
    """Return the records that a hook made of steps (number, worker, staleness, loss); None where it has none."""
    hook = entry(every)
    session = SimpleNamespace(step=start)
    hook.begin(session)
    for number, worker, staleness, loss in steps:
        session.step = number
        hook.after_run(session, SimpleNamespace(step=number, worker=worker, staleness=staleness, loss=loss))
    hook.end(session)
    return getattr(hook, "records", None)


def drive_stop(entry, settings, start, steps):
    """Return (whether the hook refused its settings, the step at which it first asked to stop, or None)."""
    asked = []
    session = SimpleNamespace(step=start, request_stop=asked.append)
    try:
        hook = entry(**settings)
    except ValueError:
        return True, None
    hook.begin(session)
    for number in steps:
        session.step = number
        hook.after_run(session, SimpleNamespace(step=number, worker=0, staleness=0, loss=1.0))
        if asked:
            return False, number
    return False, None
