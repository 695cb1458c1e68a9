"""The processes of a cluster that is started by hand: one a task and one for the scheduler, as from separate shells."""

import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from course.cluster import ClusterSpec
from course.cluster.certificates import write_certificate
from tests.helpers.cluster.ports import free_ports
from tests.helpers.shells import Member

REPOSITORY = Path(__file__).parents[4]


class Members:
    """`ps` parameter servers, `worker` workers and a scheduler, by `python -m course task`; `close` ends them.

    `place`: from a member's name to its host's address and what stands before a command that is to run there.
    """

    def __init__(self, ps=2, worker=3, place=None):
        self._folder = tempfile.TemporaryDirectory(prefix="course-members-")
        folder = Path(self._folder.name)
        self.certificate, self.file = folder / "cluster.pem", folder / "cluster.toml"
        write_certificate(self.certificate)
        self._place = place or (lambda name: ("127.0.0.1", ()))
        jobs = {"scheduler": 1, "ps": ps, "worker": worker}
        names = {job: [name_of(job, index) for index in range(count)] for job, count in jobs.items()}
        ports = iter(free_ports(1 + ps + worker))
        lines = [
            f"{job} = [{', '.join(_quoted(self._place(name)[0], next(ports)) for name in members)}]"
            for job, members in names.items()
        ]
        self.file.write_text("\n".join(lines) + "\n")
        self.spec = ClusterSpec.read(self.file)
        self._members = {name: self._started(name, self.file) for members in names.values() for name in members}

    def _started(self, name, spec):
        """Start the process of a task, or of "scheduler", by the spec in the file `spec`."""
        job, index = _job_and_index(name)
        arguments = ["--spec", spec, "--job", job, "--index", index, "--certificate", self.certificate]
        return Member(*arguments, "--patience", 120, folder=REPOSITORY, prefix=self._place(name)[1])

    def intruder(self, name, elsewhere):
        """Start a second process for the task `name`: on its port, or `elsewhere`, on a free one; return it."""
        file = self.file
        if elsewhere:
            mine = self.spec.task_address(*_job_and_index(name))
            file = self.file.with_name("other.toml")
            file.write_text(self.file.read_text().replace(f'"{mine}"', f'"127.0.0.1:{free_ports(1)[0]}"'))
        return self._started(name, file)

    def pids(self):
        """Return member's name -> process id."""
        return {name: member.pid for name, member in self._members.items()}

    def restart(self, name):
        """Start a member again, once its process has gone; what lives stays."""
        with suppress(subprocess.TimeoutExpired):
            self._members[name].ends(5)
            self._members[name].close()
            self._members[name] = self._started(name, self.file)

    def mend(self):
        """Let frozen members go on and start those again that have ended."""
        for name, member in self._members.items():
            if member.process.poll() is None:
                os.kill(member.pid, signal.SIGCONT)
            else:
                self.restart(name)

    def close(self):
        """End every member, politely first."""
        for member in self._members.values():
            member.close()
        self._folder.cleanup()


def name_of(job, index):
    """Return a member's name: a task's, or "scheduler"."""
    return "scheduler" if job == "scheduler" else f"/job:{job}/task:{index}"


def _job_and_index(name):
    if name == "scheduler":
        return name, 0
    job, index = name.removeprefix("/job:").split("/task:")
    return job, int(index)


def _quoted(host, port):
    return f'"{host}:{port}"'
