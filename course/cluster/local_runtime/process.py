"""Start a task's process and hold it by a handle: by the fork server on Linux, by a fresh Python elsewhere."""

import gc
import json
import os
import select
import signal
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from course.cluster.task.task import TaskSettings, run_task, task_settings

#: For the fork server, or a fresh Python, to import torch from a slow disk and answer.
FORK_SERVER_ANSWER = 60.0
#: For the fork server to end when its owner closes it; after that it is killed.
FORK_SERVER_ENDS = 5.0

_ENDED = "the fork server has ended; the next local_cluster() starts a new one"
#: One thread each: tasks are the parallel part, and an idle pool in the fork server would not survive the fork.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def launch(settings: TaskSettings) -> "_Forked | _Spawned":
    """Start a process for the task in `settings`; its handle has `pid`, `exit_code()` and `signal(number)`."""
    if sys.platform == "linux":
        return _Forked(_server(), settings)
    return _Spawned(settings)


def preload() -> None:
    """Start the fork server if there is none, without waiting until it has imported torch."""
    if sys.platform == "linux":
        _server()


class ForkServer:
    """The owner's side of `course.cluster.local_runtime.forkserver`: one request, one answer, from any thread."""

    def __init__(self):
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._process = _python("forkserver", "main", stdout=subprocess.PIPE)
        self._ready = False
        # Finalizers run newest first at exit, so clusters, which are younger, close before their server ends.
        self.close = weakref.finalize(self, _end_server, self._process, self.owner)

    @property
    def alive(self) -> bool:
        """Whether it runs, and was started by this process, not by one that this one was forked from."""
        return self.owner == os.getpid() and self._process.poll() is None

    def request(self, **message: Any) -> dict[str, Any]:
        """Send one request and return its answer; raise RuntimeError when the server is gone or does not answer."""
        with self._lock:
            if not self._ready:
                self._read_answer()
                self._ready = True
            try:
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError) as error:  # a broken pipe, or one that `close` has closed
                raise RuntimeError(_ENDED) from error
            return self._read_answer()

    def _read_answer(self):
        if not select.select([self._process.stdout], [], [], FORK_SERVER_ANSWER)[0]:
            self._process.kill()  # a late answer would be taken for the next one's
            raise RuntimeError(
                f"the fork server gave no answer in {FORK_SERVER_ANSWER:.0f} s; the next start makes a new one"
            )
        line = self._process.stdout.readline()  # all there, as the server writes it in one go
        if not line:
            raise RuntimeError(_ENDED)
        return json.loads(line)


def _python(module, function, **streams):
    """Start a fresh Python that finds modules where this one does, and calls the function; Ctrl-C does not reach it.

    It collects no garbage until the function turns that on: imports make little, and looking for it takes a sixth of
    their time.
    """
    start = f"from course.cluster.local_runtime.{module} import {function}; {function}()"
    command = [sys.executable, "-c", f"import gc, sys; gc.disable(); sys.path[:] = {json.dumps(sys.path)}; {start}"]
    group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if os.name == "nt" else {"start_new_session": True}
    return subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, **_ONE_THREAD}, **streams, **group)


def _end_server(process, owner):
    """End the fork server and with it every task that it forked; no business of a process forked from the owner."""
    if owner != os.getpid():
        return
    with suppress(BrokenPipeError):  # a request that it did not live to read may still be in the buffer
        process.stdin.close()
    try:
        process.wait(FORK_SERVER_ENDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(FORK_SERVER_ENDS)
    process.stdout.close()


_SERVERS: list[ForkServer] = []  # at most one: it outlives clusters on purpose, so that the next one starts in a moment
_STARTING = threading.Lock()


def _server():
    with _STARTING:
        if _SERVERS and not _SERVERS[0].alive:
            _SERVERS.pop().close()
        if not _SERVERS:
            _SERVERS.append(ForkServer())
        return _SERVERS[0]


class _Forked:
    def __init__(self, server, settings):
        self._server = server
        answer = server.request(start=asdict(settings))
        if "error" in answer:
            raise RuntimeError(f"{settings.name} cannot start: {answer['error']}")
        self.pid = answer["pid"]

    def exit_code(self):
        """Return None while the process runs, its exit code afterwards (minus the signal that killed it)."""
        return self.signal(0)

    def signal(self, number):
        """Send the signal `number`, unless the process has ended; return as `exit_code` does."""
        try:
            return self._server.request(signal=int(number), pid=self.pid)["exit_code"]
        except RuntimeError:
            return -signal.SIGKILL  # tasks die with the server


class _Spawned:
    def __init__(self, settings):
        self._process = _python("process", "spawned_main")
        # The pipe stays open: its end tells the task that its owner is gone.
        self._process.stdin.write(json.dumps(asdict(settings)).encode() + b"\n")
        self._process.stdin.flush()
        self.pid = self._process.pid

    def exit_code(self):
        """Return None while the process runs, its exit code afterwards."""
        code = self._process.poll()
        if code is not None:
            self._process.stdin.close()
        return code

    def signal(self, number):
        """Send the signal `number` (Windows knows only "end it"), unless the process has ended."""
        if self.exit_code() is None:
            self._process.kill() if os.name == "nt" else self._process.send_signal(number)
        return self.exit_code()


def spawned_main() -> None:
    """Be a task where processes are spawned (macOS, Windows): its settings come by standard input, one line of JSON.

    The end of that input says that the owner is gone, and ends this process too.
    """
    gc.enable()
    owner_pipe = os.fdopen(os.dup(0), "rb")
    settings = task_settings(json.loads(owner_pipe.readline()))
    threading.Thread(target=_end_with_owner, args=(owner_pipe,), daemon=True, name="owner's end").start()
    sys.exit(run_task(settings))


def _end_with_owner(owner_pipe):
    owner_pipe.read()
    os._exit(1)
