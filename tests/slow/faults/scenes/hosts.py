"""Trials on two hosts: a cluster by hand over two network namespaces, TLS between them, and a cable to pull."""

import threading
from contextlib import ExitStack

from tests.helpers.namespaces import two_hosts
from tests.slow.faults.processes.members import Members
from tests.slow.faults.scenes.driven import PATIENCE, DrivenScene, judged


class HostsScene(DrivenScene):
    """The scheduler, ps 0 and worker 0 on one host, the others on the other; kept over trials, and mended."""

    def __init__(self):
        super().__init__()
        self._kept = ExitStack()
        self._hosts = self._kept.enter_context(two_hosts())
        self._members = Members(ps=2, worker=3, place=self._place)
        self._kept.callback(self._members.close)

    def _place(self, name):
        host = self._hosts[0 if name == "scheduler" or name.endswith("task:0") else 1]
        return host.address, ("ip", "netns", "exec", host.name)

    def prepare(self, plan):
        """Start a session, which waits for the members, and wait until it trains."""
        near, far = self._hosts
        for mend in (self._members.mend, far.quick, far.mend):  # the last one first
            self._trial.callback(mend)
        where = {"spec": str(self._members.file), "certificate": str(self._members.certificate)}
        self._start(plan, start=lambda command, **settings: near.start(*command, **settings), **where)

    def close(self):
        super().close()
        self._kept.close()

    def _struck(self, plan):
        """Break the cable as the plan says, and mend it, if it isn't by then."""
        far = self._hosts[1]
        if plan.kind.name == "cable slow and lossy":
            far.slow(1 + plan.amount // 100, plan.victim % 5)
            return judged(self._session.end(PATIENCE), plan)
        far.cut()
        timer = threading.Timer(plan.seconds * 2, far.mend)
        if plan.kind.name != "cable pulled for good":
            timer.start()
        try:
            return judged(self._session.end(PATIENCE), plan)
        finally:
            timer.cancel()
