"""A real Slurm of our own: munged, slurmctld and slurmd in a private folder, on free ports of loopback."""

import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.cluster.ports import free_ports

NEEDS = ("munged", "slurmctld", "slurmd", "sbatch")
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_CONFIGURATION = """\
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmctldParameters=enable_configless
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
KillWait=3
EnforcePartLimits=ALL
MinJobAge=60
GresTypes=gpu
NodeName={nodes} NodeAddr=127.0.0.1 NodeHostname={host} Port={ports} CPUs=8 RealMemory=16000 Gres=gpu:2 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=60 State=UP
"""
#: Another site's: a job has cores to itself and no memory, a scheduler that goes by turns, processes found by their
#: group, memory watched, little time, and a node that is silent for 10 s is lost with its jobs.
OTHER = {
    "SelectTypeParameters": "CR_Core",
    "SchedulerType": "sched/builtin",
    "ProctrackType": "proctrack/pgid",
    "JobAcctGatherType": "jobacct_gather/linux",
    "JobAcctGatherFrequency": "1",
    "JobAcctGatherParams": "OverMemoryKill",
    "KillWait": "10",
    "ReturnToService": "1",
    "SlurmdTimeout": "10",
    "SlurmdSpoolDir": "{folder}/var/slurmd/%n",
    "PartitionName": "short Nodes=ALL Default=YES DefaultTime=1 MaxTime=2 State=UP",
}


def need_slurm():
    """Skip the file aloud where there is no Slurm; fail where one was promised."""
    lacking = [name for name in NEEDS if shutil.which(name, path=PATH) is None]
    if lacking:
        assert "COURSE_MUST_HAVE_SLURM" not in os.environ, f"no {', '.join(lacking)} was found"
        pytest.skip(
            f"NOT TESTED HERE, there is no {lacking[0]}: `apt install slurm-wlm munge` on Debian and Ubuntu",
            allow_module_level=True,
        )


class Slurm:
    """A running Slurm: its commands find it by the environment variable SLURM_CONF, `configuration`."""

    def __init__(self, folder, owner):
        self.folder, self.configuration = folder, folder / "slurm.conf"
        self._owner, self.daemons = owner, {}

    def start(self, name, *command):
        """Start a daemon: "slurmctld", "n0", or another `command`."""
        if not command:
            how = ("slurmctld", "-D", "-i") if name == "slurmctld" else ("slurmd", "-D", "-N", name)
            command = (*how, "-f", str(self.configuration))
        self.daemons[name] = _started(command, self.folder, self._owner)

    @property
    def owner(self):
        """The name of the user that it runs as."""
        return self._owner.pw_name

    def kill(self, name):
        """Kill a daemon, as a failing machine does."""
        self.daemons[name].kill()
        self.daemons[name].wait(60)

    def run(self, *command, check=True):
        """Return what one of Slurm's commands prints."""
        environment = os.environ | {"SLURM_CONF": str(self.configuration)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def jobs(self):
        """Return the jobs that are not over, number -> (state, comment)."""
        lines = self.run("squeue", "--noheader", "--format=%i|%T|%k").splitlines()
        return {job: (state, comment) for job, state, comment in (line.strip().split("|") for line in lines)}

    def job_of(self, task):
        """Return the number of the job that runs as `task`."""
        return next(job for job, state in self.jobs().items() if state == ("RUNNING", task))

    def node(self, state, name="ALL"):
        """Set the state of a node, or of all: "drain" or "resume"."""
        self.run("scontrol", "update", f"nodename={name}", f"state={state}", *(["reason=test"] * (state == "drain")))


@contextmanager
def slurm_here(nodes=1, user=None, changes=(), files=(), before=lambda here: None):
    """Within the `with`, a `Slurm` of so many nodes runs, as `user` (the one of this process by default).

    `changes`: of the configuration, such as `OTHER`; None leaves a line out. `files`: name -> text, beside the
    configuration. `before(here)` is called before the controller starts, when munge runs.
    """
    owner = pwd.getpwnam(user) if user else pwd.getpwuid(os.getuid())
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    here = Slurm(folder, owner)
    try:
        os.chmod(folder, 0o755)
        _write(folder, nodes, owner, dict(changes), dict(files))
        key, where = folder / "munge.key", f"--socket={folder}/munge.socket"
        files = [f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed"]
        here.start("munged", "munged", "--foreground", "--force", f"--key-file={key}", where, *files)
        eventually_ready(lambda: (folder / "munge.socket").exists(), here)
        before(here)
        for name in ("slurmctld", *(f"n{number}" for number in range(nodes))):
            here.start(name)
        ready = ["sinfo", "--noheader", "--Node", "--format=%N|%t"]  # a line for each partition
        every = {f"n{number}|idle" for number in range(nodes)}
        eventually_ready(lambda: set(here.run(*ready, check=False).split()) == every, here)
        yield here
    finally:
        _end(list(here.daemons.values()), folder)
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder, nodes, owner, changes, files):
    ports = free_ports(nodes + 1)
    lines = dict(line.split("=", 1) for line in _CONFIGURATION.splitlines()) | changes
    text = "\n".join(f"{name}={value}" for name, value in lines.items() if value is not None).format(
        host=socket.gethostname(),
        folder=folder,
        user=owner.pw_name,
        controller=ports[0],
        nodes=f"n[0-{nodes - 1}]",
        ports=f"[{','.join(map(str, ports[1:]))}]" if nodes > 1 else ports[1],
    )
    (folder / "slurm.conf").write_text(f"{text}\n")
    (folder / "gres.conf").write_text("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")  # any devices will do
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    os.chmod(folder / "munge.key", 0o600)
    for name, words in files.items():
        (folder / name).write_text(words.replace("{folder}", str(folder)))
        os.chmod(folder / name, 0o755)  # some are programs
    (folder / "state").mkdir()
    for number in range(nodes):
        (folder / f"spool.n{number}").mkdir()
        (folder / "var" / "slurmd" / f"n{number}").mkdir(parents=True)
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, owner.pw_uid, owner.pw_gid)


def _started(command, folder, owner):
    binary = shutil.which(command[0], path=PATH)
    log = open(folder / f"{command[0]}.out", "ab")
    environment = {"PATH": PATH, "HOME": str(folder), "SLURM_CONF": str(folder / "slurm.conf")}
    other = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if owner.pw_uid != os.getuid() else {}
    with log:
        return subprocess.Popen(
            [binary, *command[1:]], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment,
            cwd=folder, start_new_session=True, **other,
        )  # fmt: skip


def eventually_ready(look, here, patience=60):
    """Wait until `look()` is true; fail with the daemons' own words where one of them has ended."""
    deadline = time.monotonic() + patience
    while not look():
        ended = [name for name, process in here.daemons.items() if process.poll() is not None]
        words = "".join(file.read_text(errors="replace")[-2000:] for file in here.folder.glob("*.out"))
        words += "".join(file.read_text(errors="replace")[-2000:] for file in here.folder.glob("*.log"))
        assert not ended and time.monotonic() < deadline, f"Slurm did not start ({ended}): {words}"
        time.sleep(0.05)


def _end(started, folder):
    for process in reversed(started):
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)
    for file in Path("/proc").glob("[0-9]*/cmdline"):  # a job's keeper, slurmstepd, outlives slurmd
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            conf = (file.parent / "environ").read_bytes() if "slurmstepd" in line else b""
            if re.search(rf"SLURM_CONF={re.escape(str(folder))}/", conf.decode(errors="replace")):
                os.kill(int(file.parent.name), signal.SIGKILL)
        except OSError:
            continue
