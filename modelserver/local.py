"""A server in a process of its own, for as long as a `with` lasts: what a notebook needs, and a test."""

import contextlib
import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from modelserver.deadlines import LOCAL_SERVER_ENDS, LOCAL_SERVER_STARTS
from modelserver.signals import held_back

_LOOKS_EVERY = 0.05
_READY_LOOKED_FOR_EVERY = 0.005
_START = "from modelserver.local import _main; _main()"
_READY = re.compile(r"at (https?://\S+:\d+)")


class LocalServer(contextlib.AbstractContextManager):
    """A server that runs: its `url`, and `log`, what it wrote. It ends with `close()`, and with this process."""

    def __init__(self, command: list[str]):
        self._end: weakref.finalize | None = None
        try:
            with held_back():
                self._start(command)
            self.url = self._ready()
        except BaseException:  # an interrupt too
            self.close()
            raise

    def _start(self, command):
        folder = tempfile.TemporaryDirectory()
        self._written, self._last = Path(folder.name) / "log", ""
        group: dict[str, Any] = {"start_new_session": True}  # ■ in a notebook is for its cell
        if os.name == "nt":
            group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        here = str(Path(__file__).parents[1])  # a checkout that isn't installed
        free = {name: value for name, value in os.environ.items() if name != "COURSE_SERVING_TOKEN"}
        path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH", ""))))
        with self._written.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, *command],
                stdin=subprocess.PIPE,  # its end tells the server that its owner is gone
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**free, "PYTHONPATH": path},
                **group,
            )
        self._end = weakref.finalize(self, _end, self._process, folder, os.getpid())

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        except BaseException:  # an interrupt that came before it could be held back
            self.close()
            raise

    @property
    def log(self) -> str:
        """What the server wrote; after `close`, what it had written by then."""
        with contextlib.suppress(FileNotFoundError):
            self._last = self._written.read_text(encoding="utf-8", errors="replace")
        return self._last

    def close(self) -> None:
        """Let it answer what is under way, and end it; at once, if interrupted meanwhile. Idempotent."""
        with held_back() as interrupts:
            if self._end is not None and (detached := self._end.detach()) is not None:
                _ = self.log
                process, folder, owner = detached[2]
                _end(process, folder, owner, interrupts)

    def _ready(self):
        ends = time.monotonic() + LOCAL_SERVER_STARTS
        while not (match := _READY.search(self.log)):
            if self._process.poll() is not None:
                raise RuntimeError(f"local_server(…): it ended with status {self._process.returncode}:\n{self.log}")
            if time.monotonic() > ends:
                raise TimeoutError(f"local_server(…): not ready after {LOCAL_SERVER_STARTS:.0f} s:\n{self.log}")
            time.sleep(_READY_LOOKED_FOR_EVERY)
        return match[1]


def local_server(
    directory: str | os.PathLike, *, workers: int = 2, largest: int = 64, queue: int = 1024
) -> LocalServer:
    """Return a server of the models in `directory` that answers: `python -m modelserver serve` at a free port.

    It is a process of its own, on this machine only; use it in a `with`, or `close()` it. `workers`, `largest` (rows
    of a batch) and `queue` (requests that wait) are that command's. Raises RuntimeError with what it said when it ends
    instead, TimeoutError when it isn't ready in time.
    """
    flags = {"port": 0, "workers": workers, "largest": largest, "queue": queue}
    return LocalServer(["serve", os.fspath(directory), *(f"--{name}={value}" for name, value in flags.items())])


def _main():
    """Be `python -m modelserver`, until standard input ends: then whoever started this is gone, or has closed it."""
    threading.Thread(target=_until_the_owner_is_gone, name="serving-owner", daemon=True).start()
    runpy.run_module("modelserver", run_name="__main__", alter_sys=True)


def _until_the_owner_is_gone():
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _end(process, folder, owner, interrupts=()):
    """End the server, at once when something is in `interrupts`; no business of a process forked from the owner."""
    if owner != os.getpid():
        return
    process.stdin.close()
    ends = time.monotonic() + LOCAL_SERVER_ENDS
    try:
        while process.poll() is None and time.monotonic() < ends and not interrupts:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOKS_EVERY)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        folder.cleanup()
