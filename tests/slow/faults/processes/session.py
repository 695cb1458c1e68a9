"""A session in a process of its own (`driver`), watched from outside: its lines, its processes, its end."""

import json
import queue
import signal
import subprocess
import sys
import threading
import time

import psutil

from tests.slow.faults.processes.members import REPOSITORY

_START = 150.0  # seconds until the first step, on a busy machine


class SessionProcess:
    """Runs the driver on `fields`; `start` is how to start a command, here or on another host."""

    def __init__(self, fields, start=subprocess.Popen, environment=None):
        command = [sys.executable, "-m", "tests.slow.faults.processes.driver", json.dumps(fields)]
        self._process = start(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, env=environment
        )
        self.pid, self.family, self.standstill = self._process.pid, [], 0.0
        self._lines, self._errors, self._last = queue.Queue(), [], None
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=lambda: self._errors.extend(self._process.stderr), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def wait_for_step(self, step):
        """Wait until `step` has been told; return False when the session ended before."""
        deadline = time.monotonic() + _START
        while True:
            line = self._next(deadline)
            if line is None:
                return False
            if "pids" in line:
                self.family = psutil.Process(self.pid).children(recursive=True)
            if line.get("step", 0) >= step:
                return True

    def end(self, patience):
        """Return what the session said last: `complaints` and more, or `error` and `text`; None when it was killed.

        Keeps the longest time between two lines in `standstill`. Raises TimeoutError after `patience` seconds.
        """
        deadline, heard = time.monotonic() + patience, time.monotonic()
        while self._next(deadline) is not None:
            self.standstill, heard = max(self.standstill, time.monotonic() - heard), time.monotonic()
        return self._last

    def _next(self, deadline):
        try:
            line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError("the session said nothing more") from None
        if line is None:
            self._lines.put(None)  # whoever asks again gets the same answer
        elif "complaints" in line or "error" in line:
            self._last = line
        return line

    def signal(self, number):
        """Send the session's process a signal, from outside."""
        self._process.send_signal(number)

    def left_over(self, patience=12.0):
        """Return, as sentences, which processes of the session are still there some seconds after its end."""
        deadline = time.monotonic() + patience
        while running := [process for process in self.family if process.is_running() and not _is_zombie(process)]:
            if time.monotonic() > deadline:
                return [f"left after the session: process {process.pid}" for process in running]
            time.sleep(0.1)
        return []

    def close(self):
        """End the session's process, if it has not, and what it started; return what it said on standard error.

        May be called again.
        """
        if self._process.poll() is None:
            self.signal(signal.SIGCONT) if sys.platform != "win32" else None
            self._process.kill()
        self._process.wait(10)
        for process in self.family:
            if process.is_running():
                process.kill()
        for reader in self._readers:
            reader.join(5)
        self._process.stdout.close()
        self._process.stderr.close()
        return "".join(self._errors[-40:])


def _is_zombie(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
