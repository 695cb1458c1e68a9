"""Trials in which the session itself is hit, or the clock: it runs in a process of its own, with its own cluster."""

import signal
import threading
import time
from contextlib import ExitStack, nullcontext

from tests.slow.faults.outcome import Outcome
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
        folder = self._trial.enter_context(folder_of_its_own())
        self._hands = self._trial.enter_context(clock() if plan.kind.name == "clock jumps" else nullcontext())
        self._told = told_of(plan, folder, local={"ps": plan.ps, "worker": plan.workers})
        self._session = SessionProcess(self._told, environment=self._hands and self._hands.environment)
        self._trial.callback(self._session.close)
        self._session.wait_for_step(1)

    def run(self, plan):
        """Stage the plan; return its `Outcome`."""
        began, session = time.monotonic(), self._session
        with self._trial:
            end, said, found = _struck(session, plan, self._hands, self._told)
            found += session.left()
            words = session.close()
        if end == "wrong":
            said.append(words[-1500:])
        elif found:
            end = "leak"
        seconds = time.monotonic() - began
        return Outcome(plan.seed, plan.kind.name, end, seconds, session.standstill, "; ".join(said), found)

    def close(self):
        """End what `prepare` began, where no `run` came after it."""
        self._trial.close()


def told_of(plan, folder, **where):
    """Return what the driver is to be told for this plan."""
    fields = ("workers", "mode", "aggregate", "steps", "seed")
    return {**{name: getattr(plan, name) for name in fields}, "folder": str(folder), "pause": 0.004, **where}


def _struck(session, plan, hands, told):
    if not session.wait_for_step(plan.step):
        return "wrong", ["it ended before the fault"], [str(session.end(1))]
    if plan.kind.name == "session killed":
        session.signal(signal.SIGKILL)
        return _gone_on(session, told)
    if plan.kind.name == "session frozen":
        session.signal(signal.SIGSTOP)
        threading.Timer(plan.seconds * 2, session.signal, [signal.SIGCONT]).start()
    if plan.kind.name == "clock jumps":
        hands.jump((-1) ** plan.victim * (60 + plan.amount * 100))  # up to five days, either way
    return judged(session.end(PATIENCE), plan)


def judged(last, plan):
    """Return (end, what was said, complaints) for a session's last line."""
    if last is None:
        return "wrong", ["it ended without a word"], []
    if "error" in last:
        known = last["error"] in plan.kind.errors
        return "clear error" if known else "wrong", [f"{last['error']}: {last['text']}"], []
    said = f"{last['version']} steps, {last['incarnations']} incarnations"
    return "wrong" if last["complaints"] else "right answer", [said], list(last["complaints"])


def _gone_on(session, told):
    """After the session's death: its tasks end, and a second session ends the training from what was saved."""
    found = session.left()
    second = SessionProcess(told)
    try:
        second.wait_for_step(1)  # it loads torch first
        last = second.end(PATIENCE)
        found += second.left()
    finally:
        words = second.close()
    if last is None or "error" in last or last["complaints"]:
        return "wrong", [f"{last} {words[-1500:]}"], found
    return "right answer", [f"{last['version']} steps after a second start"], found
