"""Trials on two hosts: a cluster by hand over two network namespaces, TLS between them, and a cable to pull."""

import threading
import time
from contextlib import ExitStack

from tests.faults.driven import PATIENCE, judged, told_of
from tests.faults.local import folder_of_its_own
from tests.faults.members import Members
from tests.faults.namespaces import two_hosts
from tests.faults.outcome import Outcome
from tests.faults.session import SessionProcess


class HostsScene:
    """The scheduler, ps 0 and worker 0 on one host, the others on the other; kept over trials, and mended."""

    def __init__(self):
        self._stack = ExitStack()
        self._hosts = self._stack.enter_context(two_hosts())
        self._members = Members(ps=2, worker=3, place=self._place)
        self._stack.callback(self._members.close)

    def _place(self, name):
        near = name == "scheduler" or name.endswith("task:0")
        host = self._hosts[0 if near else 1]
        return host.address, lambda command, **settings: host.start(*command, **settings)

    def prepare(self, plan):
        """The members are started with the scene; the session waits for them."""

    def run(self, plan):
        """Stage the plan; return its `Outcome`."""
        began, members = time.monotonic(), self._members
        near, far = self._hosts
        with folder_of_its_own() as folder:
            told = told_of(plan, folder, spec=str(members.file), certificate=str(members.certificate))
            session = SessionProcess(told, start=lambda command, **settings: near.start(*command, **settings))
            try:
                if not session.wait_for_step(plan.step):
                    end, said, found = "wrong", ["it ended before the fault"], [str(session.end(1))]
                else:
                    mend = _strike(plan, far)
                    end, said, found = judged(session.end(PATIENCE), plan)
                    mend()
            finally:
                far.mend()
                far.quick()
                words = session.close()
            members.mend()
        said += [words[-1500:]] if end == "wrong" else []
        seconds = time.monotonic() - began
        return Outcome(plan.seed, plan.kind.name, end, seconds, session.standstill, "; ".join(said), found)

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
