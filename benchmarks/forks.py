"""Processes that begin with PyTorch imported: forks of one that has it, for a quick run would spend its time importing.

On Linux: elsewhere a fork of a process with such libraries may fail, and each contestant begins by itself.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil

_OF = ("-m", "benchmarks.contestant")  # the command of what can be a fork, after Python's name
_LONGEST = 1 << 18  # bytes of an order: an environment, and a contestant's arguments
_IMPORTED = 60.0  # seconds for PyTorch's import, on a machine where others work too


class Forked:
    """A fork, as `subprocess.Popen` has a process; no child of ours, so that its exit status stays unknown."""

    def __init__(self, pid: int, stdin: IO[str], stdout: IO[str]):
        self.pid, self.stdin, self.stdout, self.returncode = pid, stdin, stdout, "unknown"
        self._process = psutil.Process(pid) if psutil.pid_exists(pid) else None

    def wait(self, timeout: float = 60.0) -> None:
        """Wait until it has ended; raises subprocess.TimeoutExpired after `timeout` seconds."""
        try:
            if self._process:
                self._process.wait(timeout)
        except psutil.TimeoutExpired:
            raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout) from None

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        with suppress(psutil.Error):
            if self._process:
                self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it, if it is still there."""
        self.send_signal(signal.SIGKILL)


class Forks:
    """Starts contestants as forks; one process for each number of threads is imported into, when it is first needed."""

    def __init__(self, stack: ExitStack):
        self._stack = stack
        self._begun: dict[str, socket.socket] = {}

    def start(self, command: list[str], environment: dict[str, str], log: IO[str]) -> Forked | None:
        """Return a fork that does what `command` would, its errors in `log`; None where it can't be a fork.

        OSError where none can be had.
        """
        if command[0] != sys.executable or tuple(command[1:3]) != _OF:
            return None
        threads = environment["OMP_NUM_THREADS"]
        if threads not in self._begun:
            self._begun[threads] = self._stack.enter_context(_begun(environment))
        (orders, stdin), (stdout, answers) = os.pipe(), os.pipe()
        try:
            order = json.dumps({"environment": environment, "arguments": command[3:]}).encode()
            socket.send_fds(self._begun[threads], [order], [orders, answers, log.fileno()])
            said = self._begun[threads].recv(100)
            if not said:
                raise ConnectionResetError("the process that forks has ended")
        except OSError:
            os.close(stdin)
            os.close(stdout)
            raise
        finally:
            os.close(orders)
            os.close(answers)
        return Forked(int(said), os.fdopen(stdin, "w"), os.fdopen(stdout))


@contextmanager
def forks() -> Iterator[Forks | None]:
    """Within the `with`, what starts forks; None on other systems than Linux."""
    with ExitStack() as stack:
        yield Forks(stack) if sys.platform == "linux" else None


@contextmanager
def _begun(environment):
    """Give the socket of a new process that takes orders; the process ends when it is closed."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with its:
            ours.settimeout(_IMPORTED)
            command = [sys.executable, "-m", "benchmarks.forks", str(its.fileno())]
            process = subprocess.Popen(command, env=environment, pass_fds=[its.fileno()], process_group=0)
        try:
            yield ours
        finally:
            ours.close()
            process.kill()
            process.wait()


def main(number: str) -> None:
    """Fork for each order that the socket of that number brings, and tell the fork's number; end with the socket."""
    import torch  # noqa: F401  # which every fork has then

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a fork has ended
    with socket.socket(fileno=int(number)) as ordered:
        while True:
            order, files, _, _ = socket.recv_fds(ordered, _LONGEST, 3)
            if not order:
                return
            pid = os.fork()
            if not pid:
                ordered.close()
                _be(json.loads(order), files)
            ordered.send(str(pid).encode())
            for one in files:
                os.close(one)


def _be(order: dict[str, Any], files: list[int]) -> None:
    """Become the contestant; what goes wrong is its last word, as in any process."""
    from benchmarks import contestant

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        for standard, file in enumerate(files):
            os.dup2(file, standard)
            os.close(file)
        os.environ.clear()
        os.environ.update(order["environment"])
        contestant.main(*order["arguments"])
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(sys.argv[1])
