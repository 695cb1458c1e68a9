"""Trials in which the session itself is hit, or the clock: it runs in a process of its own, with its own cluster."""

import signal
import subprocess
import threading
import time
from contextlib import ExitStack, nullcontext

from tests.slow.faults.outcome import outcome_of
from tests.slow.faults.processes.session import SessionProcess
from tests.slow.faults.scenes.local import folder_of_its_own
from tests.slow.faults.surroundings.clocks import clock

PATIENCE = 45.0  # seconds for the rest of a training, a recovery included


class DrivenScene:
    """A new session process a trial."""

    def __init__(self):
        self._trial = ExitStack()

    def prepare(self, plan):
        """Start the session and wait until it trains."""
        self._hands = self._trial.enter_context(clock() if plan.kind.name == "clock jumps" else nullcontext())
        self._start(plan, self._hands and self._hands.environment, local={"ps": plan.ps, "worker": plan.workers})

    def _start(self, plan, environment=None, start=subprocess.Popen, **where):
        """Start a session that trains `where` as the plan says; `environment`, `start`: as for its process."""
        names = ("workers", "mode", "aggregate", "steps", "seed")
        folder = str(self._trial.enter_context(folder_of_its_own()))
        self._fields = {**{name: getattr(plan, name) for name in names}, "folder": folder, "pause": 0.004, **where}
        self._session = SessionProcess(self._fields, start, environment)
        self._trial.callback(self._session.close)
        self._session.wait_for_step(1)

    def run(self, plan):
        """Stage the plan; return its `Outcome`."""
        began, session = time.monotonic(), self._session
        with self._trial:
            if session.wait_for_step(plan.step):
                end, notes, complaints = self._struck(plan)
            else:
                end, notes, complaints = "wrong", ["it ended before the fault"], [str(session.end(1))]
            leaks = [*complaints, *session.left_over()]
            words = session.close()
        notes += [words[-1500:]] if end == "wrong" else []
        return outcome_of(plan, time.monotonic() - began, end, notes, [], session.standstill, leaks)

    def close(self):
        """End what `prepare` began, where no `run` came after it."""
        self._trial.close()

    def _struck(self, plan):
        """Strike; return (end, notes, complaints)."""
        session = self._session
        if plan.kind.name == "session killed":
            session.signal(signal.SIGKILL)
            return _gone_on(session, self._fields)
        if plan.kind.name == "session frozen":
            session.signal(signal.SIGSTOP)
            threading.Timer(plan.seconds * 2, session.signal, [signal.SIGCONT]).start()
        if plan.kind.name == "clock jumps":
            self._hands.jump((-1) ** plan.victim * (60 + plan.amount * 100))  # up to five days, either way
        return judged(session.end(PATIENCE), plan)


def judged(last, plan):
    """Return (end, notes, complaints) for a session's last line."""
    if last is None:
        return "wrong", ["it ended without a word"], []
    if "error" in last:
        expected = last["error"] in plan.kind.errors
        return "clear error" if expected else "wrong", [f"{last['error']}: {last['text']}"], []
    notes = [f"{last['version']} steps, {last['incarnations']} incarnations"]
    return "wrong" if last["complaints"] else "right answer", notes, list(last["complaints"])


def _gone_on(session, fields):
    """After the session's death: its tasks end, and a second session ends the training from what was saved."""
    leaks = session.left_over()
    second = SessionProcess(fields)
    try:
        second.wait_for_step(1)  # it loads torch first
        last = second.end(PATIENCE)
        leaks += second.left_over()
    finally:
        words = second.close()
    if last is None or "error" in last or last["complaints"]:
        return "wrong", [f"{last} {words[-1500:]}"], leaks
    return "right answer", [f"{last['version']} steps after a second start"], leaks
