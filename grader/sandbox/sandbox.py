"""Start a sandbox: take a user, make a control group, start bubblewrap, and pass the program on."""

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass

from grader.sandbox.bootstrap import READY, framed, orders
from grader.sandbox.cgroup import control_group
from grader.sandbox.errors import Ended, SandboxStopped, SandboxUnavailable
from grader.sandbox.identity import identity, tasks_of
from grader.sandbox.installation import this_python
from grader.sandbox.parts import NEXT_STEP, start_parts
from grader.sandbox.profile import Profile
from grader.sandbox.running import GATE, Running

ELSEWHERE = "Marks are made on Linux. On macOS and Windows run the grading in a Linux container or virtual machine."


@dataclass(frozen=True)
class Sandbox:
    """A place to run one program in, described by `profile`. Each `start` makes a new one, used once."""

    profile: Profile = Profile()

    def start(self, program: str | bytes, beside: Running | None = None) -> Running:
        """Run `program` (Python source, text or bytes) in a new sandbox; return it, `Running`.

        `beside`: another one that runs, whose network (loopback only) this one then shares: two programs, each
        with a user, files and processes of its own. Raises SandboxUnavailable where no sandbox can be made, and
        SandboxStopped with the end of `beside` when that has ended.
        """
        if not sys.platform.startswith("linux"):
            raise SandboxUnavailable(f"there is no sandbox on {sys.platform}. {ELSEWHERE}")
        if beside is not None and self.profile.network == "none":
            raise ValueError("start(beside=…): there is no network to share. Give this profile network='loopback'.")
        source = program.encode() if isinstance(program, str) else bytes(program)
        try:
            running, first = self._start(beside)
            try:
                return _introduced(running, first, source)
            except BaseException:  # Ctrl-C too: what is held by no one must not run on
                running.close()
                raise
        except SandboxUnavailable:
            if beside is not None and beside.has_ended(1.0):
                raise SandboxStopped(beside.ended) from None  # so its network is gone
            raise

    def run(self, program: str | bytes, requests: bytes = b"", seconds: float | None = None) -> Ended:
        """Run `program`, send it `requests`, wait for its end, and return `Ended`: for programs that only print."""
        with self.start(program) as running:
            try:
                running.send(requests, seconds)
                return running.finish(seconds)
            except SandboxStopped as stopped:
                return stopped.ended

    def _start(self, beside):
        """Return what was started, `Running`, and the orders it waits for."""
        installation = this_python(self.profile.hidden)
        with ExitStack() as stack:
            who = stack.enter_context(identity())
            group = stack.enter_context(control_group(self.profile.memory, self.profile.processes + 1))
            try:
                parts = start_parts(self.profile, installation, who, group, beside)
            except OSError as error:  # too many open files, a kernel before 5.3
                raise SandboxUnavailable(f"no sandbox can be started: {error}. {NEXT_STEP}") from error
            # from here on the watcher gives all back, when the last process is gone
            running = Running(self.profile, parts, stack.pop_all().close)
        # a plain user's other processes are counted with those inside, on kernels before 5.14
        others = tasks_of(os.geteuid()) if who.own_namespace else 0
        return running, orders(self.profile, installation.packages, self.profile.processes + others)


def _introduced(running, first, program):
    """Wait until the sandbox says that it stands, and give it its orders; no one's code has run until then."""
    try:
        if running.receive(len(READY), GATE) == READY:
            running.send(framed(first, program), GATE)
            running.begin()
            return running
        ended = running.close()
    except SandboxStopped as stopped:
        ended = stopped.ended
    raise SandboxUnavailable(f"the sandbox did not come up: {ended}: {ended.stderr.strip()[-500:]}. {NEXT_STEP}")
