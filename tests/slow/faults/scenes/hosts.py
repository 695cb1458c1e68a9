"""Trials on two hosts: a cluster by hand over two network namespaces, TLS between them, and a cable to pull."""

import threading
import time
from contextlib import ExitStack

from tests.helpers.namespaces import two_hosts
from tests.slow.faults.outcome import outcome_of
from tests.slow.faults.processes.members import Members
from tests.slow.faults.processes.session import SessionProcess
from tests.slow.faults.scenes.driven import PATIENCE, fields_of, judged
from tests.slow.faults.scenes.local import folder_of_its_own


class HostsScene:
    """The scheduler, ps 0 and worker 0 on one host, the others on the other; kept over trials, and mended."""

    def __init__(self):
        self._stack = ExitStack()
        self._hosts = self._stack.enter_context(two_hosts())
        self._members = Members(ps=2, worker=3, place=self._place)
        self._stack.callback(self._members.close)
        self._trial = self._stack.enter_context(ExitStack())

    def _place(self, name):
        near = name == "scheduler" or name.endswith("task:0")
        host = self._hosts[0 if near else 1]
        return host.address, lambda command, **settings: host.start(*command, **settings)

    def prepare(self, plan):
        """Start a session, which waits for the members, and wait until it trains."""
        folder = self._trial.enter_context(folder_of_its_own())
        fields = fields_of(plan, folder, spec=str(self._members.file), certificate=str(self._members.certificate))
        near = self._hosts[0]
        self._session = SessionProcess(fields, start=lambda command, **settings: near.start(*command, **settings))
        self._trial.callback(self._session.close)
        self._session.wait_for_step(1)

    def run(self, plan):
        """Stage the plan; return its `Outcome`."""
        began, session, far = time.monotonic(), self._session, self._hosts[1]
        with self._trial as trial:
            trial.callback(self._members.mend)
            trial.callback(far.quick)
            trial.callback(far.mend)
            if session.wait_for_step(plan.step):
                mend = _strike(plan, far)
                end, notes, wrong = judged(session.end(PATIENCE), plan)
                mend()
            else:
                end, notes, wrong = "wrong", ["it ended before the fault"], [str(session.end(1))]
            words = session.close()
        notes += [words[-1500:]] if end == "wrong" else []
        return outcome_of(plan, time.monotonic() - began, end, notes, wrong, session.standstill)

    def close(self):
        self._stack.close()


def _strike(plan, far):
    """Break the cable as the plan says; return a function that mends it, if it isn't by then."""
    if plan.kind.name == "cable slow and lossy":
        far.slow(1 + plan.amount // 100, plan.victim % 5)
        return far.quick
    far.cut()
    if plan.kind.name == "cable pulled for good":
        return far.mend
    timer = threading.Timer(plan.seconds * 2, far.mend)
    timer.start()
    return timer.join
