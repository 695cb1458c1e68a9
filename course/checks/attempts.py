"""How often each exercise's answer was wrong: a hint is for who has tried twice."""

from collections import Counter
from threading import Lock


class Attempts:
    """The wrong answers of one kernel, by exercise. Safe to use from several threads.

    >>> attempts = Attempts()
    >>> attempts.wrong("step"), attempts.wrong("film"), attempts.wrong("step")
    (1, 1, 2)
    """

    def __init__(self):
        self._wrong, self._lock = Counter(), Lock()

    def wrong(self, exercise):
        """Count one more wrong answer to `exercise`; return how many there were, this one included."""
        with self._lock:
            self._wrong[exercise] += 1
            return self._wrong[exercise]
