"""Start a sandbox: take a user, make a control group, start bubblewrap, and pass the program on."""

import json
import os
import platform
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.bootstrap import READY, command_line, framed, orders
from grader.sandbox.bwrap import find_programs, options, setpriv_words
from grader.sandbox.cgroup import ControlGroup, control_group
from grader.sandbox.errors import Ended, SandboxStopped, SandboxUnavailable
from grader.sandbox.identity import identity, tasks_of
from grader.sandbox.installation import this_python
from grader.sandbox.pipes import is_ready
from grader.sandbox.profile import Profile
from grader.sandbox.running import GATE, Running

ELSEWHERE = "Marks are made on Linux. On macOS and Windows run the grading in a Linux container or virtual machine."
NEXT_STEP = (
    "`python -m grader doctor` looks at what this machine lacks. In a container, bubblewrap needs to be "
    "allowed to make namespaces; --unsafe-no-sandbox grades without a sandbox, for code that you trust."
)


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

    def run(self, program: str | bytes) -> Ended:
        """Run `program`, wait for its end, and return `Ended`: for programs that only print."""
        with self.start(program) as running:
            return running.finish()

    def _start(self, beside):
        """Return what was started, `Running`, and the orders it waits for."""
        installation = this_python()
        with ExitStack() as stack:
            account = stack.enter_context(identity())
            group = stack.enter_context(control_group(self.profile.memory, self.profile.processes + 1))
            try:
                parts = _start_parts(self.profile, installation, account, group, beside)
            except OSError as error:  # too many open files, a kernel before 5.3
                raise SandboxUnavailable(f"no sandbox can be started: {error}. {NEXT_STEP}") from error
            # from here on the watcher gives all back, when the last process is gone
            running = Running(self.profile, parts, stack.pop_all().close)
        others = tasks_of(os.geteuid()) if account.own_namespace and not _namespaces_count_apart() else 0
        return running, orders(self.profile, installation.packages, self.profile.processes + others)


def _namespaces_count_apart():
    """Tell whether the kernel counts a user's processes in each namespace apart: Linux does from 5.14 on."""
    return tuple(int(number) for number in platform.release().split("-")[0].split(".")[:2]) >= (5, 14)


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


@dataclass
class Parts:
    """`process`: bubblewrap, outside; `monitor`: a descriptor that is readable when it ended; `first`: the first
    process inside, with whose end all others end; the rest are pipes' ends and the control group."""

    process: subprocess.Popen
    monitor: int
    first: "First"
    requests: int
    evidence: int
    stdout: int
    stderr: int
    group: ControlGroup

    def reap(self) -> int:
        """Wait for bubblewrap's own end and return the program's exit status."""
        status = self.process.wait()
        os.close(self.monitor)
        os.close(self.first.descriptor)
        return status


@dataclass(frozen=True)
class First:
    """The first process of the sandbox, by its number outside and a descriptor: a number may be given away again."""

    pid: int
    descriptor: int

    def kill(self) -> None:
        """Kill it, and with it all that runs inside."""
        with suppress(ProcessLookupError):  # it may have ended by itself
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)

    def wait_for_end(self, seconds: float) -> None:
        """Wait until it is gone, and with it every process inside: the kernel lets it end as the last."""
        if not is_ready(self.descriptor, select.POLLIN, seconds):
            raise TimeoutError(f"the sandbox's processes did not end {seconds:.0f} s after they were killed")


def _start_parts(profile, installation, account, group, beside):
    """Start bubblewrap, put what it made under the limits of `group`, let it go on, and return the `Parts`."""
    pipes = {name: os.pipe() for name in ("requests", "evidence", "stdout", "stderr", "information", "gate")}
    outer = {name: ends[name in ("requests", "gate")] for name, ends in pipes.items()}
    inner = {name: ends[name not in ("requests", "gate")] for name, ends in pipes.items()}
    process = first = None
    try:
        process = _start_bubblewrap(profile, installation, account, inner, beside)
        for name in list(inner):
            os.close(inner.pop(name))
        first = _first_process(process, outer)
        group = group.holding(first.pid)
        # should the whole machine run short of memory, the kernel shall take this one first; inside, /proc is read-only
        with suppress(PermissionError):  # a hardened machine may keep even this to root
            Path(f"/proc/{first.pid}/oom_score_adj").write_text("1000")
        os.write(outer["gate"], b"!")
        for name in ("requests", "evidence", "stdout", "stderr"):
            os.set_blocking(outer[name], False)
        ours = {name: outer.pop(name) for name in ("requests", "evidence", "stdout", "stderr")}
        return Parts(process=process, monitor=os.pidfd_open(process.pid), first=first, group=group, **ours)
    except BaseException:
        if process is not None:
            process.kill()  # what it started dies with it
            process.wait()
        if first is not None:
            os.close(first.descriptor)
        raise
    finally:
        for descriptor in (*outer.values(), *inner.values()):
            os.close(descriptor)


def _start_bubblewrap(profile, installation, account, inner, beside):
    bwrap, setpriv = find_programs(account.own_namespace)
    for name in ("stdout", "stderr") if setpriv else ():
        os.fchown(inner[name], account.user, -1)  # so that /dev/stdout can be opened inside
    bwrap_options = options(profile, installation, account, share_network=beside is not None)
    try:
        bwrap_options.add("--info-fd", inner["information"], "--block-fd", inner["gate"])
        # by descriptor: whatever stands in a command line can be read inside, in /proc/1
        words = bwrap_options.data(b"".join(word.encode() + b"\0" for word in bwrap_options.words))
        inside = command_line(installation.executable, inner["requests"], inner["evidence"])
        if setpriv is not None:
            inside = [*setpriv_words(setpriv, account.user), *inside]
        passed = [
            *bwrap_options.descriptors,
            *(inner[name] for name in ("requests", "evidence", "information", "gate")),
        ]
        return subprocess.Popen(
            [*_enter_network(beside, account), bwrap, "--args", str(words), "--", *inside],
            stdin=subprocess.DEVNULL,
            stdout=inner["stdout"],
            stderr=inner["stderr"],
            pass_fds=passed,
            env={},
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the grader; it then ends the sandbox in order
        )
    finally:
        bwrap_options.close()


def _enter_network(beside, account):
    """Return the words before bubblewrap's that put it into the network of the sandbox `beside`; none for its own."""
    if beside is None:
        return []
    nsenter = shutil.which("nsenter", path="/usr/local/bin:/usr/bin:/bin")
    if nsenter is None:
        raise SandboxUnavailable("there is no nsenter, and two sandboxes are to share a network. Install util-linux.")
    spaces = f"/proc/{beside.first_pid}/ns"
    user = [f"--user={spaces}/user", "--preserve-credentials"] if account.own_namespace else []
    return [nsenter, *user, f"--net={spaces}/net", "--"]


def _first_process(process, outer):
    """Return the `First` process that bubblewrap reports; raises SandboxUnavailable with what it says instead."""
    text, deadline = b"", time.monotonic() + GATE
    while not text.rstrip().endswith(b"}"):
        if not is_ready(outer["information"], select.POLLIN, deadline - time.monotonic()):
            break
        more = os.read(outer["information"], 4096)
        if not more:
            break
        text += more
    try:
        pid = json.loads(text)["child-pid"]
        return First(pid, os.pidfd_open(pid))
    except (ValueError, KeyError, ProcessLookupError):
        process.kill()
        process.wait()
        message = os.read(outer["stderr"], 4096).decode(errors="replace").strip()
        raise SandboxUnavailable(
            f"bubblewrap could not make a sandbox: {message or 'no answer'}. {NEXT_STEP}"
        ) from None
