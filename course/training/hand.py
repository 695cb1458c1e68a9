"""The worker's part of a process that was started by hand: its loop, wherever the chief says the shards are."""

import threading
import time

from course.training.worker import work

_AGAIN = 0.5  # seconds between two starts of the loop for the same shards


class Hand:
    """Runs worker number `worker`'s loop in a thread, one at a time; `context`: as for `work`."""

    def __init__(self, problem, worker, seed, context):
        self._arguments, self._context, self._worker = (problem, seed), context, worker
        self._where, self._thread, self._over, self._started = None, None, False, 0.0

    def follow(self, where):
        """See that the loop runs for the shards at `where` (None: there are none yet). Quick; call it often."""
        if where != self._where:
            self._where, self._over = where, False
        elif self._over or (self._thread is not None and self._thread.is_alive()):
            return
        elif time.monotonic() - self._started < _AGAIN:
            return
        if where is not None:
            self._started = time.monotonic()
            self._thread = threading.Thread(target=self._work, args=(where,), name="worker's loop", daemon=True)
            self._thread.start()

    def _work(self, where):
        problem, seed = self._arguments
        try:
            ended = work(problem, self._worker, where, seed, self._context).ended
        except Exception as error:  # the problem's code may raise anything; the loop has told it, the chief reports it
            ended = str(error)
        if where == self._where:
            # a loop that lost its shards begins again, for as long as the chief names no others
            self._over = not ended.startswith("lost")
