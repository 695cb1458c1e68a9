"""An event loop in a thread of its own: where a cluster's scheduler and client live, while the notebook's cells run."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tornado.ioloop import IOLoop

from course.cluster.task.loop_errors import watch_errors

#: For an event loop's thread to start, and to end.
LOOP_THREAD = 10.0

Result = TypeVar("Result")


class LoopThread:
    """Runs an event loop until `stop`; `loop` is tornado's view of it, for Dask.

    (Dask's own `LoopRunner` stops a loop when its last user says goodbye, and a client whose start fails never does.)
    """

    def __init__(self):
        self._started = threading.Event()
        work = (self._until_stopped(),)
        self._thread = threading.Thread(target=asyncio.run, args=work, name="cluster's event loop", daemon=True)
        self._thread.start()
        if not self._started.wait(LOOP_THREAD):
            raise RuntimeError(f"the cluster's event loop did not start within {LOOP_THREAD:.0f} s")

    async def _until_stopped(self):
        self._end = asyncio.Event()
        self.loop = IOLoop.current()
        watch_errors()
        self._started.set()
        await self._end.wait()

    def run(self, function: Callable[..., Coroutine[Any, Any, Result]], *arguments: Any) -> Result:
        """Run the coroutine function in the loop; wait, interruptibly, and return what it returns."""
        return asyncio.run_coroutine_threadsafe(function(*arguments), self.loop.asyncio_loop).result()

    def is_alive(self) -> bool:
        """Say whether the loop still runs."""
        return self._thread.is_alive()

    def is_mine(self) -> bool:
        """Say whether the caller runs in the loop's own thread, where it must not wait for the loop."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Cancel what still runs in the loop and end it; may be called again."""
        if self._thread.is_alive():
            self.loop.asyncio_loop.call_soon_threadsafe(self._end.set)
            self._thread.join(LOOP_THREAD)
