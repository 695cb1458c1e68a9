"""The main program of a companion's sandbox: it plays the host that a submission in another sandbox works against.

Each request brings the source of a class `Host` and a plan. `Host(plan)` starts serving and has an `address`; when the
submission has answered, `seen()` ends it and returns its record, which goes to the grader. No student's code runs here,
so the record is true; what a student sends arrives as bytes on a socket and is read as such.

Messages that it sends, as in `serve.py`: `h` text: it serves, at this address (JSON); `v` evidence; `e` text: it
failed.
"""

import json
import os
import sys
import traceback
from typing import Any

from . import links
from .cells import in_short
from .serve import _send, _take_message, _text
from .values import encode, unpack


def main(requests: int, evidence: int) -> None:
    """Play one host after another, two messages each (begin, end), until the other side closes."""
    sys.modules["grader.inside.links"] = links  # by this name hosts import it in a test, too
    while True:
        request = unpack(_take_message(requests))
        host = None
        try:
            namespace: dict[str, Any] = {"__name__": "host"}
            exec(compile(request["host"], "<host>", "exec"), namespace)
            host = namespace["Host"](request["plan"])
            _send(evidence, b"h", _text(json.dumps(host.address)))
            _take_message(requests)
            _send(evidence, b"v", encode(request["evidence"], host.seen()))
        except Exception as failure:  # of the lab's own `Host`
            traceback.print_exc()
            _send(evidence, b"e", _text(in_short(failure)))
            if host is not None:
                os._exit(1)  # whatever it had started is in an unknown state: the next one gets a sandbox of its own
