"""Two hosts on one machine: network namespaces with a cable between them that can be pulled, delayed and mended."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


class NotHereError(RuntimeError):
    """This machine can't do it; the message says what is missing, for a test to skip aloud."""


@dataclass(frozen=True)
class Host:
    """One namespace: `address` is its end of the cable."""

    name: str
    address: str

    def start(self, *command, **settings):
        """Start a command in here, as `subprocess.Popen` does."""
        return subprocess.Popen(["ip", "netns", "exec", self.name, *command], **settings)

    def cut(self):
        """Pull the cable: packets are lost, nobody is told."""
        _ip("-n", self.name, "link", "set", "cable", "down")

    def mend(self):
        """Put the cable back."""
        _ip("-n", self.name, "link", "set", "cable", "up")

    def slow(self, milliseconds, loss_percent=0):
        """Delay every packet that leaves, and lose some; NotHereError where the kernel has no netem."""
        change = ["tc", "-n", self.name, "qdisc", "replace", "dev", "cable", "root"]
        _run([*change, "netem", "delay", f"{milliseconds}ms", "loss", f"{loss_percent}%"])

    def quick(self):
        """End `slow`, where it was."""
        with contextlib.suppress(NotHereError):
            _run(["tc", "-n", self.name, "qdisc", "del", "dev", "cable", "root"])


def missing():
    """Return why this machine can have no namespaces, or None when it can."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        return "network namespaces need Linux and iproute2's `ip`"
    if os.geteuid() != 0:
        return "network namespaces need root here"
    name = f"course-try-{os.getpid()}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except NotHereError as error:
        return str(error)
    return None


@contextlib.contextmanager
def two_hosts():
    """Within the `with`, two `Host`s that reach each other and nobody else; afterwards nothing of them is left."""
    reason = missing()
    if reason:
        raise NotHereError(reason)
    names = _names(os.getpid())
    hosts = [Host(name, f"10.77.0.{number}") for number, name in enumerate(names, 1)]
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("-n", names[0], "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", names[1])
        for host in hosts:
            _ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", "cable")
            _ip("-n", host.name, "link", "set", "lo", "up")
            _ip("-n", host.name, "link", "set", "cable", "up")
        yield hosts
    finally:
        for name in names:
            _remove(name)


def sweep(pid):
    """Remove what the process `pid`, which was killed, may have left of `two_hosts`."""
    if sys.platform == "linux" and shutil.which("ip"):
        for name in _names(pid):
            if Path("/run/netns", name).exists():
                _remove(name)


def _names(pid):
    return [f"course-{pid}-{side}" for side in "ab"]


def _remove(name):
    """End whatever runs in the namespace, then the namespace."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        told = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
        pids = [int(pid) for pid in told.stdout.split()]
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    with contextlib.suppress(NotHereError):  # it was never made
        _ip("netns", "del", name)


def _ip(*arguments):
    _run(["ip", *arguments])


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHereError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.returncode}")
