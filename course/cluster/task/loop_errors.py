"""What a cluster's event loop does with errors that no one waits for; above all, with no file left for a connection."""

import asyncio
import errno
import logging
import sys
import time

from distributed.client import AllExit

#: What is refused is told again of the same host only after so long: a refused task tries again and again.
REFUSAL_IS_REPEATED = 10.0
#: A process that has no file left for a connection pauses so long before it tries again, all that it does with it.
LOOP_PAUSES = 0.05
_NOTHING_LEFT = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_LOG = logging.getLogger(__name__)
_logged_at: dict[int, float] = {}  # an error's number -> when it was logged last


def watch_errors() -> None:
    """Have the running event loop print a line and pause when it can't take a connection, and then go on.

    Tornado tries to accept, fails and tries again, thousands of times a second, each with a traceback.
    """
    asyncio.get_running_loop().set_exception_handler(_handle)


def _handle(loop, context):
    error = context.get("exception")
    if isinstance(error, AllExit):  # of a wait that an interrupted `client.gather` leaves behind
        return
    if not isinstance(error, OSError) or error.errno not in _NOTHING_LEFT:
        loop.default_exception_handler(context)
        return
    now = time.monotonic()
    if now - _logged_at.get(error.errno, -REFUSAL_IS_REPEATED) >= REFUSAL_IS_REPEATED:
        _logged_at[error.errno] = now
        advice = "It tries again; `ulimit -n` says how many files it may open."
        _LOG.info("this process can't take a connection: %s", error)
        print(f"this process can't take a connection: {error}. {advice}", file=sys.stderr, flush=True)
    time.sleep(LOOP_PAUSES)  # the loop itself: what is open is served between two of these
