"""Print, on the side that listens, whose connection was refused and why: Dask's own line has only OpenSSL's word."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from course.cluster.task.loop_errors import REFUSAL_IS_REPEATED

_LOG = "distributed.comm.tcp"
_BEGINS = "Listener on %r: TLS handshake failed"
#: What OpenSSL says -> what it means.
_MEANINGS = {
    "CERTIFICATE_EXPIRED": "the cluster's certificate has expired: make a new one for all members",
    "has expired": "its certificate has expired: make a new one for all members",
    "UNKNOWN_CA": "it holds another certificate: give every member a copy of the same file",
    "VERIFY_FAILED": "it holds another certificate: give every member a copy of the same file",
    "DID_NOT_RETURN_A_CERTIFICATE": "it has no certificate: give it a copy of the cluster's",
    "WRONG_VERSION_NUMBER": "it speaks plain TCP, not TLS: it was started with --insecure, or is no member at all",
    "HTTP_REQUEST": "it speaks plain HTTP: no page is served here",
}


@contextmanager
def refusals_told(say: Callable[..., None]) -> Iterator[None]:
    """Within the `with`, `say` gets a line about each connection that this process refuses, as `print` would."""
    log, teller = logging.getLogger(_LOG), _Teller(say)
    before = log.level, log.propagate
    log.setLevel(logging.WARNING)
    log.propagate = False
    log.addHandler(teller)
    try:
        yield
    finally:
        log.removeHandler(teller)
        log.level, log.propagate = before


class _Teller(logging.Handler):
    def __init__(self, say):
        super().__init__()
        self._say = say
        self._quiet_until: dict[tuple[str, str], float] = {}  # host, meaning -> when it may be said again

    def emit(self, record):
        if not str(record.msg).startswith(_BEGINS):
            return
        listener, caller, error = record.args
        meaning = next((text for word, text in _MEANINGS.items() if word in str(error)), None)
        host = str(caller).rpartition(":")[0]
        now = time.monotonic()
        # without a meaning: a task's first look, which hangs up early
        if meaning is None or now < self._quiet_until.get((host, meaning), 0.0):
            return
        self._quiet_until[host, meaning] = now + REFUSAL_IS_REPEATED
        self._say(f"refused a connection from {caller} to {listener}: {meaning}", file=sys.stderr, flush=True)
