"""No sandbox: the same pipes to a plain child process, which can do whatever its user can.

For `--unsafe-no-sandbox`, on machines where there is no other way and whoever handed in is trusted, and for tests of
what isn't the sandbox. It has a deadline and nothing else: no other user, no limits, the whole disk, the network.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grader.sandbox.bootstrap import framed
from grader.sandbox.errors import Ended
from grader.sandbox.installation import PACKAGES
from grader.sandbox.pipes import Pipes, is_ready
from grader.sandbox.profile import Profile

#: What `grade` says in every row that was marked like this.
WARNING = "marked WITHOUT a sandbox"

ENVIRONMENT = {
    **{"PATH": os.defpath, "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
}

_BOOT = """\
import os, sys
def read(count):
    data = b""
    while len(data) < count:
        data += os.read(int(sys.argv[1]), count - len(data)) or os._exit(0)
    return data
first, program = (read(int.from_bytes(read(8), "little")) for _ in range(2))
exec(first)
given = {"__name__": "__main__", "REQUESTS": int(sys.argv[1]), "EVIDENCE": int(sys.argv[2])}
exec(compile(program, "<program>", "exec"), given)
"""


@dataclass(frozen=True)
class UnsafeSandbox:
    """Starts a program as `Sandbox` does, in a plain child process."""

    profile: Profile = Profile()

    def start(self, program: str, beside: object = None) -> "UnsafeProcess":
        """Run `program` (Python source) in a child process; return it. All share this machine's network anyway."""
        folder = Path(tempfile.mkdtemp(prefix="unsafe-"))
        for path, content in self.profile.files.items():
            place = folder / "files" / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        (folder / "work").mkdir()
        here = [str(folder / "files" / path.lstrip("/")) for path in self.profile.path]
        packages = [path for path in sys.path if path.endswith(PACKAGES)]
        running = self._process(folder)
        order = f"sys.path[:] = [*{here!r}, *sys.path, *{packages!r}]; sys.dont_write_bytecode = True"
        running.send(framed(order.encode(), program.encode()))
        return running

    def _process(self, folder):
        return UnsafeProcess(self.profile, folder)


class UnsafeProcess(Pipes):
    """The result of `UnsafeSandbox.start`: `send`, `receive`, `stop`, `close` and `ended`, as `Running` has."""

    def __init__(self, profile: Profile, folder: Path) -> None:
        self._folder, self._profile, self.work = folder, profile, str(folder / "work")
        self._started = time.monotonic()
        self._deadline = self._started + profile.seconds
        theirs, self._requests = os.pipe()
        self._evidence, back = os.pipe()
        os.set_blocking(self._requests, False)
        with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            self._process = self._start(folder, stdout, stderr, theirs, back)
        os.close(theirs)
        os.close(back)

    def _start(self, folder: Path, stdout: IO, stderr: IO, requests: int, evidence: int) -> Any:
        """Return the process that runs what comes through `requests`: it has a `pid` and can `wait`."""
        return subprocess.Popen(
            [sys.executable, "-P", "-s", "-S", "-c", _BOOT, str(requests), str(evidence)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(requests, evidence),
            cwd=folder / "work",
            env={"HOME": str(folder), **ENVIRONMENT},
            start_new_session=True,
        )

    def close(self) -> Ended:
        """End it, remove what it left, and return `Ended`. May be called again."""
        self.stop("closed")
        return self.ended

    def warn(self) -> None:
        """Send SIGTERM to it, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGTERM)

    def stop(self, limit: str) -> None:
        """Kill it and its group, and remove what it left; `limit` says why. The first reason stays."""
        if self.ended is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        os.close(self._requests)
        os.close(self._evidence)
        stdout, stderr = (self._text(name) for name in ("stdout", "stderr"))
        self.ended = Ended(limit, status, stdout, stderr, time.monotonic() - self._started, 0.0, 0)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self, descriptor, event, deadline):
        while not is_ready(descriptor, event, 0.1):
            if time.monotonic() > deadline:
                self._stopped("time")
            if (self._folder / "stdout").stat().st_size > self._profile.output:
                self._stopped("output")

    def _text(self, name):
        with (self._folder / name).open("rb") as file:
            return file.read(self._profile.kept).decode(errors="replace")
