"""Trials of the classic form: each role a process from a shell of its own, the chief by lease, nobody replaced."""

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from course.cluster.certificates import write_certificate
from course.training.checkpoint.checkpoints import Checkpoints
from tests.slow.faults.counting import counted
from tests.slow.faults.outcome import Outcome
from tests.slow.faults.processes.members import free_ports
from tests.slow.faults.processes.role import play, standstill

_START, _END = 150.0, 70.0  # seconds until the first gradient (the first trial loads torch), and for all roles to end
_PATIENCE = 40  # seconds for which a role waits for the others, or for the scheduler: within _END
_AGAIN = 15  # the same for a role that is started again: the others may have ended before it comes
_STEPS = {"async": 900, "sync": 400}
WORKERS = 3
#: Roles are forked from a process that has loaded PyTorch once: a trial then takes seconds, not half a minute.
_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["tests.slow.faults.processes.role", "tests.slow.faults.lane"])


class ClassicScene:
    """One parameter server and three workers, started anew for each trial."""

    def __init__(self):
        self._trial = ExitStack()

    def prepare(self, plan):
        """Start the roles and wait until they train."""
        folder = self._trial.enter_context(tempfile.TemporaryDirectory(prefix="course-classic-"))
        self._roles = self._trial.enter_context(closing(Roles(plan, Path(folder))))
        self._roles.wait_for_first_gradient()

    def run(self, plan):
        """Stage the plan; return its `Outcome`."""
        began, roles = time.monotonic(), self._roles
        with self._trial:
            try:
                time.sleep(plan.step / 400)
                struck, expected = time.monotonic(), CLASSIC_STRIKES[plan.kind.name](roles, plan)
                codes = roles.ended()
                end, said, found = _judged(roles, codes, expected, plan)
                stood = standstill(roles.traces, struck)
            except TimeoutError as error:
                end, said, found, stood = "hang", [str(error)], [roles.words()], None
        seconds = time.monotonic() - began
        return Outcome(plan.seed, plan.kind.name, end, seconds, stood, "; ".join(said), found)

    def close(self):
        """End what `prepare` began, where no `run` came after it."""
        self._trial.close()


class Roles:
    """The processes: "ps" and "worker 0", "worker 1", … by name; a chief writes into its own folder of checkpoints."""

    def __init__(self, plan, folder):
        self._plan, self._folder, self._processes = plan, folder, {}
        self.traces, self.checkpoints = folder / "traces", folder / "checkpoints"
        self.traces.mkdir()
        write_certificate(folder / "cluster.pem")
        ports = free_ports(1 + WORKERS)
        self._hosts = [f"127.0.0.1:{port}" for port in ports]
        for name in ["ps", *(f"worker {index}" for index in range(WORKERS))]:
            self.start(name)

    def start(self, name, patience=_PATIENCE):
        """Start a role; it waits `patience` seconds for the others."""
        job, _, index = name.partition(" ")
        command = ["train", "--ps-hosts", self._hosts[0], "--worker-hosts", ",".join(self._hosts[1:])]
        command += ["--job-name", job, "--task-index", index or "0", "--problem", "counting"]
        command += ["--mode", self._plan.mode, "--steps", str(_STEPS[self._plan.mode])]
        command += ["--checkpoint-dir", str(self.checkpoints), "--patience", str(patience)]
        command += ["--certificate", str(self._folder / "cluster.pem")]
        arguments = (command, self.traces, self._folder / f"{name}.log")
        self._processes[name] = _FORKED.Process(target=play, args=arguments, name=name)
        self._processes[name].start()

    def wait_for_first_gradient(self):
        """Wait until training has begun."""
        self._wait(lambda: any(self.traces.iterdir()), _START, "training has not begun")

    def signal(self, name, number):
        """Send a role a signal; one that has ended is none to send to."""
        with suppress(ProcessLookupError):
            os.kill(self._processes[name].pid, number)

    def again(self, name, seconds):
        """Start a role again by hand, some seconds from now."""
        threading.Timer(seconds, self.start, [name, _AGAIN]).start()
        time.sleep(seconds + 0.1)

    def ended(self):
        """Wait until every role has ended; return name -> exit code."""
        self._wait(lambda: not any(p.is_alive() for p in self._processes.values()), _END, "not every role ended")
        return {name: process.exitcode for name, process in self._processes.items()}

    def words(self):
        """Return the last lines of every role."""
        return "\n".join(f"{path.stem}: {path.read_text()[-700:]}" for path in sorted(self._folder.glob("*.log")))

    def _wait(self, true, patience, what):
        deadline = time.monotonic() + patience
        while not true():
            if time.monotonic() > deadline:
                running = [name for name, process in self._processes.items() if process.is_alive()]
                raise TimeoutError(f"{what} within {patience:.0f} s; still running: {running}")
            time.sleep(0.05)

    def close(self):
        """End what still runs."""
        for process in self._processes.values():
            process.kill()
            process.join(10)


def _judged(roles, codes, expected, plan):
    """Return (end, what was said, complaints): exit codes, the last checkpoint's numbers, one clear sentence."""
    found = [f"{name} ended with {code}" for name, code in codes.items() if code not in expected.get(name, (0,))]
    saved, steps = Checkpoints(roles.checkpoints).latest(), _STEPS[plan.mode]
    rows = counted(saved.parameters)
    said = [f"step {saved.version}, incarnation {saved.incarnation}, codes {list(codes.values())}"]
    if "Traceback" in roles.words():
        found.append("a role ended in a traceback")
    if saved.version < steps and "ps" not in plan.kind.name:
        found.append(f"training ended at step {saved.version} of {steps}")
    if abs(sum(rows) - saved.version) > 1e-6 * saved.version:
        found.append(f"the parameters hold {rows} at version {saved.version}")
    table = [0] * WORKERS
    for one in saved.applied.values():
        table[one.worker] += one.applied
    if plan.mode == "async" and table != rows:
        found.append(f"the parameters hold {rows}, the table of applied pushes {table}")
    if found:
        return "wrong", said, [*found, roles.words()]
    return "right answer" if saved.version == steps else "clear error", said, []


#: Exit codes that are right when the ps, and with it the scheduler, is hit: the others may have to say that it is lost.
_PERHAPS = {f"worker {index}": (0, 1) for index in range(WORKERS)}


def _kill(name):
    def strike(roles, plan):
        victim = name.format(1 + plan.victim % (WORKERS - 1))
        roles.signal(victim, signal.SIGKILL)
        return {**(_PERHAPS if victim == "ps" else {}), victim: (-9,)}

    return strike


def _restart(name):
    def strike(roles, plan):
        victim = name.format(1 + plan.victim % (WORKERS - 1))
        roles.signal(victim, signal.SIGKILL)
        roles.again(victim, 0.2 + plan.seconds / 4)
        return {
            **(_PERHAPS if victim == "ps" else {}),
            victim: (0, 1),
        }  # where all was over before it came, there is nobody to join

    return strike


def _freeze(name):
    def strike(roles, plan):
        victim = name.format(1 + plan.victim % (WORKERS - 1))
        roles.signal(victim, signal.SIGSTOP)
        threading.Timer(plan.seconds * 1.5, roles.signal, [victim, signal.SIGCONT]).start()
        return {**(_PERHAPS if victim == "ps" else {}), victim: (0, 1)}

    return strike


CLASSIC_STRIKES = {
    "classic: chief killed": _kill("worker 0"),
    "classic: chief frozen": _freeze("worker 0"),
    "classic: chief started again": _restart("worker 0"),
    "classic: worker killed": _kill("worker {}"),
    "classic: worker frozen": _freeze("worker {}"),
    "classic: worker started again": _restart("worker {}"),
    "classic: ps killed": _kill("ps"),
    "classic: ps frozen": _freeze("ps"),
    "classic: ps started again": _restart("ps"),
}
