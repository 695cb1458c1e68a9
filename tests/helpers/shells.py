"""Tests' own: the processes of a cluster started by hand, as in shells of their own, and what they said."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

from course.cluster import ClusterSpec
from course.cluster.certificates import write_certificate


class Member:
    """One `python -m course task` (or another `room`); its lines are read as they come. `prefix`: such as `ip`."""

    def __init__(self, *arguments, folder=None, prefix=(), room="task"):
        command = [*prefix, sys.executable, "-m", "course", room, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, cwd=folder
        )
        self.lines = []
        self._heard = threading.Condition()
        self._reader = threading.Thread(target=self._read, name="reader of a task's lines")
        self._reader.start()

    @property
    def pid(self):
        return self.process.pid

    @property
    def text(self):
        return "\n".join(self.lines)

    def _read(self):
        for line in self.process.stdout:
            with self._heard:
                self.lines.append(line.rstrip("\n"))
                self._heard.notify_all()
        with self._heard:
            self._heard.notify_all()

    def says(self, words, times=1, patience=120.0):
        """Wait for a line with `words` (for the `times`-th); return it."""

        def found():
            return [line for line in self.lines if words in line][times - 1 : times]

        with self._heard:
            self._heard.wait_for(lambda: found() or not self._reader.is_alive(), patience)
        assert found(), f"{words!r} was not said; this was: {self.text}"
        return found()[0]

    def signal(self, number):
        self.process.send_signal(number)

    def ends(self, patience=120.0):
        """Wait for the process to end; return its exit code."""
        code = self.process.wait(patience)
        self._reader.join(60)
        return code

    def close(self):
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        self.process.terminate()  # not SIGKILL: a task removes its own folder
        try:
            self.ends(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.ends(60)
        self.process.stdout.close()


class Members:
    """Starts members that all share some arguments, and ends them."""

    def __init__(self, *shared, folder=None):
        self.shared, self.folder, self.started = shared, folder, []

    def start(self, job, index=0, *more, shared=None, prefix=()):
        arguments = self.shared if shared is None else shared
        self.started.append(
            Member(*arguments, "--job", job, "--index", index, *more, folder=self.folder, prefix=prefix)
        )
        return self.started[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for member in self.started:
            member.close()


#: Fifty updates a second by each worker: a training is hit in its middle, and leaves the machine to the other tests.
SLOWLY = """
from course.training import linear_regression, paced


def make():
    return paced(linear_regression(), seconds=0.02)
"""


class Roles:
    """Starts roles of a training that share some flags, each as in a shell of its own; by default they train `SLOWLY`.

    `ports`: of the `ps` parameter servers, then of the workers, all on 127.0.0.1.
    """

    def __init__(self, ports, folder, *flags, ps=1):
        write_certificate(folder / "cluster.pem")
        (folder / "slowly.py").write_text(SLOWLY)
        hosts = [f"127.0.0.1:{port}" for port in ports]
        cluster = ["--ps-hosts", ",".join(hosts[:ps]), "--worker-hosts", ",".join(hosts[ps:])]
        self.flags = [*cluster, "--problem", "slowly:make", *flags]
        self.folder, self.held = folder, ExitStack()

    def start(self, job, index, *more):
        role = Member(*self.flags, "--job-name", job, "--task-index", index, *more, folder=self.folder, room="train")
        self.held.callback(role.close)
        return role

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.held.close()


@contextmanager
def classic(folder, ports, patience=(60, 60)):
    """Within the `with`, a ps with the scheduler inside and two workers run, by the classic flags, and have joined.

    Gives the `Members`, the spec, the certificate's file and the three members. `patience`: the workers', in seconds.
    """
    certificate = folder / "cluster.pem"
    write_certificate(certificate)
    ps, *workers = (f"127.0.0.1:{port}" for port in ports)
    flags = ["--ps-hosts", ps, "--worker-hosts", ",".join(workers), "--certificate", certificate]
    with Members(*flags) as members:
        found = [members.start("ps")]
        found[0].says("listens at")  # a worker of little patience would not wait for it
        found += [members.start("worker", index, "--patience", seconds) for index, seconds in enumerate(patience)]
        for member in found:
            member.says("listens at")
        yield members, ClusterSpec.from_flags(ps_hosts=ps, worker_hosts=workers), certificate, found


def eventually(look, patience=120.0):
    """Wait until `look()` is true, and return it; fail after `patience` seconds."""
    deadline = time.monotonic() + patience
    while not (seen := look()):
        assert time.monotonic() < deadline, f"it has not come in {patience:g} s"
        time.sleep(0.05)
    return seen
