"""The processes of a cluster that is started by hand: one a task and one for the scheduler, as from separate shells."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from course.cluster import ClusterSpec
from course.cluster.certificates import write_certificate

REPOSITORY = Path(__file__).parents[4]


class Members:
    """`ps` parameter servers, `worker` workers and a scheduler, by `python -m course task`; `close` ends them.

    `place`: from a member's name to its host's address and a function that starts a command there, as Popen does.
    """

    def __init__(self, ps=2, worker=3, place=None):
        self._folder = tempfile.TemporaryDirectory(prefix="course-members-")
        folder = Path(self._folder.name)
        self.certificate, self.file = folder / "cluster.pem", folder / "cluster.toml"
        write_certificate(self.certificate)
        self._place = place or (lambda name: ("127.0.0.1", subprocess.Popen))
        self._processes = {}
        jobs = {"scheduler": 1, "ps": ps, "worker": worker}
        names = {job: [name_of(job, index) for index in range(count)] for job, count in jobs.items()}
        ports = iter(free_ports(1 + ps + worker))
        lines = [
            f"{job} = [{', '.join(_quoted(self._place(name)[0], next(ports)) for name in members)}]"
            for job, members in names.items()
        ]
        self.file.write_text("\n".join(lines) + "\n")
        self.spec = ClusterSpec.read(self.file)
        self.names = [name for members in names.values() for name in members]
        for name in self.names:
            self.start(name)

    def start(self, name):
        """Start the process of a task, or of "scheduler", as at first."""
        with open(self.log_of(name), "a") as log:  # the process has its own hold of the file
            self._processes[name] = self._place(name)[1](
                self.command(name, self.file),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=REPOSITORY,
                start_new_session=True,
            )

    def command(self, name, spec):
        """Return the command that starts a member by the spec in the file `spec`."""
        job, index = _job_and_index(name)
        command = [sys.executable, "-m", "course", "task", "--spec", str(spec), "--job", job, "--index", str(index)]
        return [*command, "--certificate", str(self.certificate), "--patience", "120"]

    def intruder(self, name, elsewhere):
        """Start a second process for the task `name`: on its port, or `elsewhere`, on a free one; return it."""
        file = self.file
        if elsewhere:
            mine = self.spec.task_address(*_job_and_index(name))
            file = self.file.with_name("other.toml")
            file.write_text(self.file.read_text().replace(f'"{mine}"', f'"127.0.0.1:{free_ports(1)[0]}"'))
        return subprocess.Popen(
            self.command(name, file), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=REPOSITORY
        )

    def log_of(self, name):
        """Return the file with what the member said."""
        return Path(self._folder.name) / (name.strip("/").replace("/", "-").replace(":", "-") + ".log")

    def pids(self):
        """Return member's name -> process id."""
        return {name: process.pid for name, process in self._processes.items()}

    def restart(self, name):
        """Start a member again, once its process has gone; what lives stays."""
        if self._gone(name, patience=5):
            self.start(name)

    def mend(self):
        """Let frozen members go on and start those again that have ended."""
        for process in self._processes.values():
            if process.poll() is None:
                os.kill(process.pid, signal.SIGCONT)
        for name in self.names:
            if self._processes[name].poll() is not None:
                self.start(name)

    def _gone(self, name, patience):
        deadline = time.monotonic() + patience
        while self._processes[name].poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return self._processes[name].poll() is not None

    def close(self):
        """End every member, politely first."""
        for process in self._processes.values():
            if process.poll() is None:
                os.kill(process.pid, signal.SIGCONT)
                process.terminate()
        for process in self._processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        self._folder.cleanup()


def name_of(job, index):
    """Return a member's name: a task's, or "scheduler"."""
    return "scheduler" if job == "scheduler" else f"/job:{job}/task:{index}"


def _job_and_index(name):
    if name == "scheduler":
        return name, 0
    job, index = name.removeprefix("/job:").split("/task:")
    return job, int(index)


def free_ports(count):
    """Return ports of loopback on which nobody listens now."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _quoted(host, port):
    return f'"{host}:{port}"'
