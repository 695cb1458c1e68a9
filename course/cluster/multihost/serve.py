"""Be a member of a cluster: `serve` until a signal comes (`python -m course task`), or `joined` within a `with`."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from distributed import Worker

from course.cluster.dask_log import quiet
from course.cluster.local_runtime.loop import LoopThread
from course.cluster.multihost.task_process import run_member
from course.cluster.multihost.which_task import Member
from course.deadlines import TASK_LEAVES


def serve(me: Member, say: Callable[..., None] = print) -> int:
    """Run the `Member` in this process until SIGTERM or Ctrl-C; return the process's exit code, 0 then.

    `say` gets the lines for the reader: name, address and session target when the task is ready.
    """
    quiet()
    try:
        asyncio.run(run_member(me, None, say))
    except KeyboardInterrupt:  # Windows, where asyncio takes no signal handlers
        pass
    except RuntimeError as error:
        say(str(error), file=sys.stderr, flush=True)
        return 1
    return 0


@contextmanager
def joined(me: Member, say: Callable[..., None] = print) -> Iterator["Membership"]:
    """Within the `with`, this process is the `Member` too, in a thread of its own; gives its `Membership`.

    Returns when the task has joined; raises RuntimeError when it could not, with what it said, after the member's
    patience at most. At the end the task leaves the cluster.
    """
    quiet()
    with closing(Membership(me, say)) as membership:
        membership.wait()
        yield membership


class Membership:
    """A task that runs in a thread of this process. `worker`: its Dask worker, a new one after it has joined again."""

    def __init__(self, me: Member, say: Callable[..., None]):
        self.name, self.session_target = me.name, me.session_target
        self.worker: Worker | None = None
        self._changed = threading.Event()  # joined, or ended
        self._thread = LoopThread()
        self._stop = asyncio.Event()
        self._running = asyncio.run_coroutine_threadsafe(
            run_member(me, self._stop, say, self._ready), self._thread.loop.asyncio_loop
        )
        self._running.add_done_callback(lambda _: self._changed.set())

    @property
    def ended(self) -> str | None:
        """Why the task is no member any more, as text: it lost its scheduler for too long; None while it is one."""
        if not self._running.done():
            return None
        error = None if self._running.cancelled() else self._running.exception()
        return str(error or f"{self.name} was told to leave")

    def wait(self) -> None:
        """Return when the task has joined for the first time; RuntimeError when it ended before that."""
        self._changed.wait()  # as long as the task's own patience, which ends it
        if self.ended is not None:
            raise RuntimeError(self.ended)

    def close(self) -> None:
        """Leave the cluster and end the thread; a second call does nothing."""
        if self._thread.is_alive():
            self._thread.loop.asyncio_loop.call_soon_threadsafe(self._stop.set)
            try:
                with suppress(RuntimeError):  # `ended` tells it
                    self._running.result(TASK_LEAVES)
            finally:
                self._thread.stop()

    def _ready(self, worker):
        self.worker = worker
        self._changed.set()
