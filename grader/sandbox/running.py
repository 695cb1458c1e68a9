"""A sandbox at work: the thread that watches what it uses and prints, and ends it."""

import os
import selectors
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

from grader.sandbox.errors import Ended
from grader.sandbox.pipes import AT_ONCE, Pipes
from grader.sandbox.profile import Profile
from grader.sandbox.usage import processes_below, usage

EVERY = 0.05  # seconds between two looks at what is used
GATE = 60.0  # seconds in which a sandbox must stand; it takes hundredths of one
PATIENCE = 20.0  # seconds for the kernel to end what was killed; a machine that swaps is slow


class Running(Pipes):
    """The result of `Sandbox.start`: `send` and `receive`, end it by `close()` or the end of a `with`.

    One thread sends and receives; another, its own, watches. `ended` is None until the end, and then says how it came.
    The sandbox dies with the thread that started it.
    """

    def __init__(self, profile: Profile, parts: Any, release: Callable[[], object]) -> None:
        """`parts`: the `Parts` of a sandbox that was just started; `release()` is called once all of it is gone."""
        self._profile = profile
        self._parts = parts
        self._requests, self._evidence = parts.requests, parts.evidence
        self._release = release
        self._started = time.monotonic()
        self._deadline = self._started + GATE
        self._begun = False
        self._limit: str | None = None
        self._failure: Exception | None = None
        self._turn = threading.Lock()  # nothing is killed by a descriptor that was given back
        self._over = False
        self._cpu_seconds, self._peak = 0.0, 0
        self._printed = {parts.stdout: BoundedLog(profile.kept), parts.stderr: BoundedLog(profile.kept)}
        self._gone = threading.Event()
        self._watcher = threading.Thread(target=self._guard, name="sandbox-watch", daemon=True)
        self._watcher.start()

    def begin(self) -> None:
        """Start the clock: the program has its orders. The time of a busy machine until here doesn't count."""
        self._started = time.monotonic()
        self._deadline = self._started + self._profile.seconds
        self._begun = True

    def finish(self) -> Ended:
        """Close the pipe of requests, wait for the program's end, and return `Ended`."""
        self._requests = _closed(self._requests)
        if not self._gone.wait(max(0.0, self._deadline - time.monotonic())):
            self.stop("time")
        return self.close()

    def close(self) -> Ended:
        """End what still runs, wait until it is gone, and give everything back. May be called again."""
        self.stop("closed")
        self._watcher.join()
        self._requests = _closed(self._requests)
        self._evidence = _closed(self._evidence)
        if self._failure is not None:
            raise RuntimeError("the sandbox could not be watched to its end") from self._failure
        return self.ended

    def stop(self, limit: str) -> None:
        """Kill everything inside; `limit` says why. The first reason stays."""
        with self._turn:
            if not self._over:
                self._limit = self._limit or limit
                self._parts.first.kill()

    def warn(self) -> None:
        """Send SIGTERM to the program: of what bubblewrap's process has started, the first."""
        with self._turn, suppress(ProcessLookupError):
            below = [] if self._over else processes_below(self.first_pid)[1:]
            if below:
                os.kill(below[0], signal.SIGTERM)

    @property
    def work(self) -> str:  # type: ignore[override]
        """The path, from outside, of the folder in which the program works."""
        return f"/proc/{self.first_pid}/root/tmp"

    def processor_seconds(self) -> float | None:
        """Return what all its processes used so far, those that have ended too; None: not counted on this machine."""
        return self._parts.group.cpu_seconds()

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Tell whether it has ended, or does within `seconds`."""
        return self._gone.wait(seconds)

    @property
    def first_pid(self) -> int:
        """The number, outside, of the first process inside."""
        return self._parts.first.pid

    def _stopped(self, limit):
        # its pipe closes a moment before its end is seen: let it end by itself, then say how
        if limit == "silent":
            self._gone.wait(1.0)
        super()._stopped(limit)

    def _guard(self):
        try:
            self._watch()
        except Exception as failure:  # of the grader: it is told to who waits, and nothing runs unwatched
            self._failure = failure
            self.stop("closed")
        finally:
            self._gone.set()

    def _watch(self):
        """Read what is printed and look at what is used until all is over; then put the end on record."""
        with selectors.DefaultSelector() as selector:
            for source in (*self._printed, self._parts.monitor):
                selector.register(source, selectors.EVENT_READ)
            look = time.monotonic()
            while True:
                ready = {key.fd for key, _ in selector.select(EVERY)}
                for source in ready & set(self._printed):
                    if not self._take(source):
                        selector.unregister(source)
                if self._parts.monitor in ready:
                    break
                if time.monotonic() >= look:
                    look = time.monotonic() + EVERY
                    self._look()
        self._conclude()

    def _take(self, source):
        """Take what was printed; False at its end."""
        more = os.read(source, AT_ONCE)
        self._printed[source].add(more)
        if sum(log.total for log in self._printed.values()) > self._profile.output:
            self.stop("output")
        return bool(more)

    def _look(self):
        if not self._begun:  # while it is set up, its /tmp is still this machine's, with all files that lie there
            if time.monotonic() > self._deadline:
                self.stop("time")
            return
        profile, group = self._profile, self._parts.group
        # where the kernel counts memory, and stops at the limit, the watcher takes a quick look: the exact one is slow
        allowed = inf if group.counts_memory else profile.memory
        current = usage(self._parts.first.pid, allowed, count_shared=not group.counts_memory)
        self._cpu_seconds = max(self._cpu_seconds, current.cpu_seconds)
        self._peak = max(self._peak, current.memory)
        over = {
            "time": time.monotonic() > self._deadline,
            "memory": current.memory > allowed or group.ran_out_of_memory(),
            "processes": current.processes > profile.processes + 1,  # the first one is bubblewrap's
            "files": current.files > profile.files_limit,
            "cpu": current.cpu_seconds > profile.cpu_limit,
        }
        for limit in filter(over.get, over):
            self.stop(limit)

    def _conclude(self):
        self._parts.first.kill()  # what the program left behind when it ended
        self._parts.first.wait_for_end(PATIENCE)
        with self._turn:
            self._over = True
            status = self._parts.reap()
        for source in self._printed:
            with suppress(BlockingIOError):
                while self._take(source):
                    continue
            os.close(source)
        if self._limit in (None, "silent", "closed") and self._parts.group.ran_out_of_memory():
            self._limit = "memory"
        if self._limit is None and status == 128 + signal.SIGXCPU:
            self._limit = "cpu"
        stdout, stderr = (log.text() for log in self._printed.values())
        seconds = time.monotonic() - self._started
        self._release()
        self.ended = Ended(self._limit, status, stdout, stderr, seconds, self._cpu_seconds, self._peak)


def _closed(descriptor):
    if descriptor >= 0:
        os.close(descriptor)
    return -1


class BoundedLog:
    """The beginning and the end of a text that may be endless, and its length: `total`, in bytes."""

    def __init__(self, limit: int) -> None:
        """`limit`: the bytes that are kept, half of the beginning and half of the end."""
        self.total = 0
        self._half = limit // 2
        self._head, self._tail = bytearray(), bytearray()

    def add(self, more: bytes) -> None:
        """Take the next bytes of the text."""
        self.total += len(more)
        room = self._half - len(self._head)
        self._head += more[:room]
        self._tail += more[room:]
        del self._tail[: -self._half]

    def text(self) -> str:
        """Return what there is of it, as text, with a line for what was left out."""
        left_out = self.total - len(self._head) - len(self._tail)
        middle = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
        return bytes(self._head + middle + self._tail).decode(errors="replace")
