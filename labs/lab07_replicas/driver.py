"""How lab 07's answers are driven: a store by pushes, a descent by the gradient of another curve than a parabola.

The same text drives them in the notebook and in the sandbox of a submission, so it needs numpy only, and holds no
answer.
"""

import numpy as np


def slope(w):
    """The gradient of log(cosh(w)): steep far out, flat at the bottom."""
    return float(np.tanh(w))


def drive_sync(entry, w, learning_rate, needed, pushes):
    """Return what each push told, with the version and the parameters after it; None on a stub.

    Every array is written over once the store has been given it.
    """
    first = np.array(w, float)
    store, told = entry(first, learning_rate, needed), []
    first += 1000.0
    for worker, version, gradient, rows in pushes:
        given = np.array(gradient, float)
        word = store.push(worker, version, given, rows)
        given += 1000.0
        if word is ... or word is None:
            return None
        now, pulled = store.pull()
        told.append((word, now, np.array(pulled, float)))
    return told


def drive_descent(entry, w, rate, delay, steps):
    """Descend another curve."""
    return entry(w, rate, delay, steps, slope)
