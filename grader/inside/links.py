"""The server of a host, on 127.0.0.1, which a submission can't bring down, whatever it does to its links.

Hosts import it as `grader.inside.links`, in their sandbox (where `host` gives it that name) as in a test.
"""

import json
import socketserver
import time
from collections.abc import Callable
from typing import Any


class LinkServer(socketserver.ThreadingTCPServer):
    """Each link has a thread of its own, which ends with the process. It goes on when no file is left for a link."""

    allow_reuse_address = daemon_threads = True
    request_queue_size = 128

    def get_request(self) -> Any:
        """Accept a link (socketserver's name)."""
        try:
            return super().get_request()
        except OSError:  # no file is left for a link: some may be freed, and the server tries again
            time.sleep(0.05)
            raise

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away in mid-answer, or sent what is no request (socketserver's name)."""


def lines(answer: Callable[[bytes], Any], most: int) -> type[socketserver.StreamRequestHandler]:
    """Return the handler of links on which requests are lines, of `most` bytes at most, and answers lines of JSON."""

    class Link(socketserver.StreamRequestHandler):
        def handle(self):
            while line := self.rfile.readline(most):
                self.wfile.write(json.dumps(answer(line)).encode() + b"\n")
                if not line.endswith(b"\n"):
                    return  # whoever sends lines without an end is not listened to

    return Link
