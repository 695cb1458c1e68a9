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
from tests.slow.faults.outcome import outcome_of
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
                struck, expected = time.monotonic(), _strike(roles, plan)
                codes = roles.ended()
                trial = *_judged(roles, codes, expected, plan), standstill(roles.traces, struck)
            except TimeoutError as error:
                trial = "hang", [str(error)], [roles.words()], None
        return outcome_of(plan, time.monotonic() - began, *trial)

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

    def _wait(self, true, patience, problem):
        deadline = time.monotonic() + patience
        while not true():
            if time.monotonic() > deadline:
                running = [name for name, process in self._processes.items() if process.is_alive()]
                raise TimeoutError(f"{problem} within {patience:.0f} s; still running: {running}")
            time.sleep(0.05)

    def close(self):
        """End what still runs."""
        for process in self._processes.values():
            process.kill()
            process.join(10)


def _judged(roles, codes, expected, plan):
    """Return (end, notes, complaints): exit codes, the last checkpoint's numbers, one clear sentence."""
    wrong = [f"{name} ended with {code}" for name, code in codes.items() if code not in expected.get(name, (0,))]
    saved, steps = Checkpoints(roles.checkpoints).latest(), _STEPS[plan.mode]
    rows = counted(saved.parameters)
    notes = [f"step {saved.version}, incarnation {saved.incarnation}, codes {list(codes.values())}"]
    if "Traceback" in roles.words():
        wrong.append("a role ended in a traceback")
    if saved.version < steps and "ps" not in plan.kind.name:
        wrong.append(f"training ended at step {saved.version} of {steps}")
    if abs(sum(rows) - saved.version) > 1e-6 * saved.version:
        wrong.append(f"the parameters hold {rows} at version {saved.version}")
    table = [0] * WORKERS
    for session in saved.applied.values():
        table[session.worker] += session.applied
    if plan.mode == "async" and table != rows:
        wrong.append(f"the parameters hold {rows}, the table of applied pushes {table}")
    if wrong:
        return "wrong", notes, [*wrong, roles.words()]
    return "right answer" if saved.version == steps else "clear error", notes, []


def _strike(roles, plan):
    """Do what the kind's name says; return role -> the exit codes that are right for it, where others than 0 are."""
    role, way = plan.kind.name.removeprefix("classic: ").split(" ", 1)
    victim = {"chief": "worker 0", "worker": f"worker {1 + plan.victim % (WORKERS - 1)}", "ps": "ps"}[role]
    roles.signal(victim, signal.SIGSTOP if way == "frozen" else signal.SIGKILL)
    if way == "frozen":
        threading.Timer(plan.seconds * 1.5, roles.signal, [victim, signal.SIGCONT]).start()
    if way == "started again":
        roles.again(victim, 0.2 + plan.seconds / 4)
    # a role whose ps, and with it the scheduler, is lost may say so; one that comes when all is over has none to join
    perhaps = [f"worker {index}" for index in range(WORKERS)] if victim == "ps" else []
    # on a busy machine the training may be over before the blow: a role that has ended well can't be killed any more
    return {**dict.fromkeys(perhaps, (0, 1)), victim: (-9, 0) if way == "killed" else (0, 1)}
