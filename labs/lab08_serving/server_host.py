"""The server that lab 08's client calls: it answers by a script, and it alone knows the time, which is simulated.

`Script` is the server itself; the notebook's check asks it directly. Marking runs this text in the grader's own sandbox
and asks it over a socket (`Host`). A question is a line of JSON, and so is each answer. Standard library only.
"""

import json
import math
import socketserver
import threading
import time

MOST = 300  # things on record; who wants more is told that this is enough
RAISES = {"refused": "ConnectionRefusedError", "lost": "ConnectionResetError", "silent": "TimeoutError"}


class Script:
    """The server of a plan: {"start": seconds on the clock, "script": what becomes of each request}.

    A line of the script is [what, seconds it takes, retry_after], where `what` is a status, "refused", "lost" or
    "silent"; the last line holds for all that is sent afterwards. `record` has [what, at, seconds, text] for each
    "send" (its timeout, the request as JSON) and each "sleep".
    """

    def __init__(self, plan):
        self.script, self.now, self.sent, self.record = plan["script"], float(plan["start"]), 0, []

    def ask(self, do, seconds=0.0, request=None):
        """Return the answer to one question, a dictionary; {"error": why} for one that can't be answered."""
        if do == "clock":
            return {"now": self.now}
        if not (math.isfinite(seconds) and seconds >= 0):
            return {"error": f"{do}: {seconds} is no number of seconds from 0 on"}
        if len(self.record) >= MOST:
            return {"error": f"{MOST} requests and pauses are enough"}
        self.record.append([do, self.now, seconds, json.dumps(request, sort_keys=True) if do == "send" else ""])
        if do == "send":
            return self._send(seconds)
        self.now += seconds
        return {}

    def _send(self, timeout):
        what, takes, retry_after = self.script[min(self.sent, len(self.script) - 1)]
        self.sent += 1
        if takes >= timeout or what == "silent":
            what, takes = "silent", timeout
        self.now += takes
        if what in RAISES:
            return {"raises": RAISES[what], "why": f"{what} after {takes:g} s"}
        return {"raises": "", "status": what, "retry_after": retry_after}


class Host:
    """Serves a `Script` on 127.0.0.1 to whoever asks."""

    def __init__(self, plan):
        self.script, self.lock, host = Script(plan), threading.Lock(), self

        # as `grader.inside.links`, which this file can't import: it is in the students' copy of the lab
        class Link(socketserver.StreamRequestHandler):
            def handle(self):
                while line := self.rfile.readline(2000):
                    self.wfile.write(json.dumps(host.answer(line)).encode() + b"\n")
                    if not line.endswith(b"\n"):
                        return  # whoever sends lines without an end is not listened to

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128

            def get_request(self):
                try:
                    return super().get_request()
                except OSError:  # no file is left for a link: some may be freed, and the server tries again
                    time.sleep(0.05)
                    raise

            def handle_error(self, request, client_address):
                pass  # a client that went away in mid-answer

        self.server = Server(("127.0.0.1", 0), Link)
        self.address = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, line):
        """Return the answer to a line that a submission wrote."""
        try:
            asked = json.loads(line)
            do, seconds, request = asked["do"], float(asked.get("seconds", 0.0)), asked.get("request")
            if do not in ("clock", "sleep", "send"):
                raise ValueError(f"there is no {do!r}")
            with self.lock:
                return self.script.ask(do, seconds, request)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as problem:
            return {"error": f"{type(problem).__name__}: {problem}"[:200]}

    def seen(self):
        """End it; return the record."""
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            return self.script.record
