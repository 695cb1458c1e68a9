"""The pieces of one started sandbox: bubblewrap's two processes, the pipes, the control group."""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

from grader.sandbox.bootstrap import command_line
from grader.sandbox.bwrap import find_programs, options, setpriv_words
from grader.sandbox.cgroup import ControlGroup
from grader.sandbox.errors import SandboxUnavailable
from grader.sandbox.identity import Identity
from grader.sandbox.installation import Installation
from grader.sandbox.pipes import is_ready
from grader.sandbox.profile import Profile
from grader.sandbox.running import GATE, Running

NEXT_STEP = (
    "`python -m grader doctor` looks at what this machine lacks. In a container, bubblewrap needs to be "
    "allowed to make namespaces; --unsafe-no-sandbox grades without a sandbox, for code that you trust."
)


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
        try:
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)
        except ProcessLookupError:
            return  # it ended by itself

    def wait_for_end(self, seconds: float) -> None:
        """Wait until it is gone, and with it every process inside: the kernel lets it end as the last."""
        if not is_ready(self.descriptor, select.POLLIN, seconds):
            raise TimeoutError(f"the sandbox's processes did not end {seconds:.0f} s after they were killed")


def start_parts(
    profile: Profile, installation: Installation, who: Identity, group: ControlGroup, beside: Running | None = None
) -> Parts:
    """Start bubblewrap, put what it made under the limits of `group`, let it go on, and return the `Parts`."""
    pipes = {name: os.pipe() for name in ("requests", "evidence", "stdout", "stderr", "information", "gate")}
    outer = {name: ends[name in ("requests", "gate")] for name, ends in pipes.items()}
    inner = {name: ends[name not in ("requests", "gate")] for name, ends in pipes.items()}
    process = first = None
    try:
        process = _start_bubblewrap(profile, installation, who, inner, beside)
        for name in list(inner):
            os.close(inner.pop(name))
        first = _first_process(process, outer)
        group = group.holding(first.pid)
        os.write(outer["gate"], b"!")
        for name in ("requests", "evidence", "stdout", "stderr"):
            os.set_blocking(outer[name], False)
        kept = {name: outer.pop(name) for name in ("requests", "evidence", "stdout", "stderr")}
        return Parts(process=process, monitor=os.pidfd_open(process.pid), first=first, group=group, **kept)
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


def _start_bubblewrap(profile, installation, who, inner, beside):
    bwrap, setpriv = find_programs(who.own_namespace)
    for name in ("stdout", "stderr") if setpriv else ():
        os.fchown(inner[name], who.user, -1)  # so that /dev/stdout can be opened inside
    made = options(profile, installation, who, share_network=beside is not None)
    try:
        made.add("--info-fd", inner["information"], "--block-fd", inner["gate"])
        # by descriptor: whatever stands in a command line can be read inside, in /proc/1
        words = made.data(b"".join(word.encode() + b"\0" for word in made.words))
        inside = command_line(installation.executable, inner["requests"], inner["evidence"])
        if setpriv is not None:
            inside = [*setpriv_words(setpriv, who.user), *inside]
        passed = [*made.descriptors, *(inner[name] for name in ("requests", "evidence", "information", "gate"))]
        return subprocess.Popen(
            [*_enter_network(beside, who), bwrap, "--args", str(words), "--", *inside],
            stdin=subprocess.DEVNULL,
            stdout=inner["stdout"],
            stderr=inner["stderr"],
            pass_fds=passed,
            env={},
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the grader; it then ends the sandbox in order
        )
    finally:
        made.close()


def _enter_network(beside, who):
    """Return the words before bubblewrap's that put it into the network of the sandbox `beside`; none for its own."""
    if beside is None:
        return []
    nsenter = shutil.which("nsenter", path="/usr/local/bin:/usr/bin:/bin")
    if nsenter is None:
        raise SandboxUnavailable("there is no nsenter, and two sandboxes are to share a network. Install util-linux.")
    spaces = f"/proc/{beside.first_pid}/ns"
    user = [f"--user={spaces}/user", "--preserve-credentials"] if who.own_namespace else []
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
        said = os.read(outer["stderr"], 4096).decode(errors="replace").strip()
        raise SandboxUnavailable(f"bubblewrap could not make a sandbox: {said or 'no answer'}. {NEXT_STEP}") from None
