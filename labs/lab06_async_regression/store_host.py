"""The store that lab 06's worker is marked against: a process that is killed, by plan, and comes back older.

Marking runs this text in the grader's own sandbox (`grader.lab.spec.Host`). Three generations of processes: this
one only collects what happened; the *keeper*, its child, starts one *life* of the store after another; a life serves
on 127.0.0.1 until it kills itself. A request is a line of JSON, and so is each answer. Standard library only,
and what a host listens with.
"""

import contextlib
import json
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time

from grader.inside.links import LinkServer, lines

PORTS = range(2222, 2322)  # the classic port, and where to go on when it is taken
MORE = range(10_000, 30_000)  # where to go on when a submission has taken all of these; below those that clients get
REQUESTS = 4000  # in one life; a worker that gets nowhere is told so


class Host:
    """Serves the store of a plan: {"rate", "every", "deaths": [[push, applied], …], "down": seconds}."""

    def __init__(self, plan):
        reading, writing = os.pipe()
        # the listener is handed on as it is: a port that is let go may be a submission's the next moment
        listener, self._claim = _listener()
        self._folder = tempfile.TemporaryDirectory(prefix="store-")
        self.keeper = os.fork()
        if self.keeper == 0:
            _keep(plan, listener, os.path.join(self._folder.name, "checkpoint"), writing)  # never returns
        os.close(writing)
        self.address = listener.getsockname()[1]
        listener.close()
        self._told, self._serves = [], threading.Event()
        self._listener = threading.Thread(target=self._collect, args=(reading,), daemon=True)
        self._listener.start()
        if not self._serves.wait(20):
            raise RuntimeError("the store did not come up")

    def seen(self):
        """End it; return what was applied, [version, w0, w1, g0, g1] each, then the last version and parameters."""
        os.kill(self.keeper, signal.SIGKILL)  # first: from here on no life begins
        os.waitpid(self.keeper, 0)
        while self._listener.is_alive():  # a life that has just begun tells its number before it serves
            self._listener.join(0.02)
            if self._listener.is_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._told[-1]["life"], signal.SIGKILL)
        self._folder.cleanup()
        self._claim.close()
        version, *w = self._told[-1]["now"]
        return [one["applied"] for one in self._told if "applied" in one], version, w

    def _collect(self, reading):
        with os.fdopen(reading) as lines:
            for line in lines:
                self._told.append(json.loads(line))
                self._serves.set()


def _listener():
    """Return a listening socket and a claim on its port, which keeps other stores away while this one is dead.

    Several submissions that are marked on one network would reach each other's stores otherwise. The claim is a socket
    by a name of Linux's own, of the same network and gone with its last holder; elsewhere it claims nothing.
    """
    for port in [*PORTS, *random.sample(MORE, 200)]:
        claim = socket.socket(socket.AF_UNIX)
        try:
            if sys.platform == "linux":
                claim.bind(f"\0store of lab 06 at {port}")
            return socket.create_server(("127.0.0.1", port), backlog=128), claim
        except OSError:
            claim.close()
    raise RuntimeError("no port is free")


def _keep(plan, listener, checkpoint, events):
    """In the keeper: one life after another, each from the last checkpoint; the first serves on `listener`."""
    try:
        port = listener.getsockname()[1]
        for number in range(len(plan["deaths"]) + 1):
            life = os.fork()
            if life == 0:
                Store(plan, number, checkpoint, events).serve(port, listener if number == 0 else None)
            listener.close()
            os.waitpid(life, 0)
            time.sleep(plan["down"])
        signal.pause()
    finally:
        os._exit(1)


class Store:
    """One life: from the checkpoint, if there is one, to its death."""

    def __init__(self, plan, life, checkpoint, events):
        self.plan, self.checkpoint, self.events = plan, checkpoint, events
        self.death = plan["deaths"][life] if life < len(plan["deaths"]) else None
        self.pushes = self.requests = 0
        self.version, self.w = 0, [0.0, 0.0]
        self.turn = threading.Lock()
        if os.path.exists(checkpoint):
            with open(checkpoint) as file:
                self.version, self.w = json.load(file)

    def serve(self, port, listener=None):
        """Serve until killed, on `listener` or on one of its own."""

        def one(line):
            with self.turn:
                return self.answer(line)

        with LinkServer(("127.0.0.1", port), lines(one, 1000), bind_and_activate=listener is None) as server:
            if listener is not None:
                server.socket.close()
                server.socket = listener
            self.tell()
            server.serve_forever()

    def answer(self, line):
        """Return the answer to one request, which a submission wrote."""
        self.requests += 1
        if self.requests > REQUESTS:
            return {"error": f"{REQUESTS} requests, and the store is at version {self.version}"}
        try:
            asked = json.loads(line)
            if asked["do"] == "pull":
                return {"version": self.version, "w": self.w}
            gradient = [float(part) for part in asked["gradient"]]
            if asked["do"] != "push" or len(gradient) != 2:
                raise ValueError("two numbers make a gradient here")
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as problem:
            return {"error": f"{type(problem).__name__}: {problem}"[:200]}
        return {"version": self.push(gradient)}

    def push(self, gradient):
        """Apply it, or die: before, or after and without an answer."""
        self.pushes += 1
        dies = self.death is not None and self.pushes == self.death[0]
        if not dies or self.death[1]:
            was = [self.version, *self.w, *gradient]
            self.w = [value - self.plan["rate"] * part for value, part in zip(self.w, gradient, strict=True)]
            self.version += 1
            if self.version % self.plan["every"] == 0:
                self.save()
            self.tell(applied=was)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.version

    def save(self):
        """Write the checkpoint: whole, or not at all."""
        with open(self.checkpoint + ".part", "w") as file:
            json.dump([self.version, self.w], file)
        os.replace(self.checkpoint + ".part", self.checkpoint)

    def tell(self, **more):
        """Put on record what is so now; one write, so that death can't tear it."""
        os.write(
            self.events, json.dumps({**more, "now": [self.version, *self.w], "life": os.getpid()}).encode() + b"\n"
        )
