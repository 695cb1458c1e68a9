"""The command that makes a sandbox: bubblewrap's options, and the small files that it reads by descriptor."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from grader.sandbox.errors import SandboxUnavailable
from grader.sandbox.identity import Identity
from grader.sandbox.installation import MACHINE, OLD_NAMES, Installation
from grader.sandbox.profile import Profile
from grader.sandbox.seccomp import seccomp_filter

DEVICES = ("null", "zero", "full", "random", "urandom")
NAME = "sandbox"
#: In /proc, but about the machine or its users: keys, addresses in the kernel, memory.
MACHINES_OWN = "acpi kallsyms kcore key-users keys latency_stats sched_debug scsi timer_list".split()
PAGE = 4096


@dataclass
class Options:
    """bubblewrap's options, and the descriptors of memory files that they name. Close them after the start."""

    words: list[str] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    ways: set[str] = field(default_factory=set)  # folders that are made already

    def add(self, *words: object) -> None:
        """Add `words` to the options."""
        self.words += [str(word) for word in words]

    def data(self, content: bytes) -> int:
        """Return the number of a descriptor from which `content` can be read once."""
        descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC)
        self.descriptors.append(descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def close(self) -> None:
        """Close the descriptors; bubblewrap has its own by then."""
        while self.descriptors:
            os.close(self.descriptors.pop())


def find_programs(own_namespace: bool) -> tuple[str, str | None]:
    """Return the paths of bubblewrap and of setpriv (None where it isn't needed)."""
    programs = {
        name: shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin") for name in ("bwrap", "setpriv")
    }
    if programs["bwrap"] is None:
        raise SandboxUnavailable("there is no bwrap. Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap).")
    if own_namespace:
        return programs["bwrap"], None
    if programs["setpriv"] is None:
        raise SandboxUnavailable("there is no setpriv. Install util-linux 2.33 or newer.")
    return programs["bwrap"], os.path.realpath(programs["setpriv"])


def options(profile: Profile, installation: Installation, identity: Identity, share_network: bool = False) -> Options:
    """Return the `Options` of a sandbox; with `share_network` it stays in the network it is started in."""
    bwrap_options = Options()
    bwrap_options.add("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--hostname", NAME)
    bwrap_options.add("--die-with-parent", "--new-session")
    if identity.own_namespace:
        bwrap_options.add("--unshare-user", "--uid", identity.user, "--gid", identity.user, "--cap-drop", "ALL")
    if not share_network:
        bwrap_options.add("--unshare-net")
    scratch = max(PAGE, profile.scratch // PAGE * PAGE)  # whole pages
    bwrap_options.add("--perms", "1777", "--size", scratch, "--tmpfs", "/tmp")
    _way_to(bwrap_options, "/dev/null")
    _way_to(bwrap_options, "/etc/passwd")
    bwrap_options.add("--perms", "1777", "--size", scratch, "--tmpfs", "/dev/shm")
    _python(bwrap_options, installation)
    _devices_and_etc(bwrap_options, identity)
    for path, content in profile.files.items():
        _way_to(bwrap_options, path)
        bwrap_options.add("--perms", "0444", "--file", bwrap_options.data(content), path)
    bwrap_options.add("--proc", "/proc")
    for name in MACHINES_OWN:
        if os.path.exists(f"/proc/{name}"):
            _cover(bwrap_options, f"/proc/{name}")
    bwrap_options.add("--remount-ro", "/proc")  # who is killed first when memory runs out is written there
    bwrap_options.add("--remount-ro", "/", "--chdir", "/tmp", "--clearenv")
    for name, value in _environment(profile).items():
        bwrap_options.add("--setenv", name, value)
    bwrap_options.add("--seccomp", bwrap_options.data(seccomp_filter(profile.network)))
    return bwrap_options


def setpriv_words(setpriv: str, user: int) -> list[str]:
    """Return the command that gives up being root for ever, and becomes `user`."""
    return [
        *(setpriv, f"--reuid={user}", f"--regid={user}", "--clear-groups"),
        *("--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs", "--"),
    ]


def _python(bwrap_options, installation):
    for path in OLD_NAMES:
        if os.path.islink(path):
            bwrap_options.add("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            bwrap_options.add("--ro-bind", path, path)
    for path in installation.folders:
        _way_to(bwrap_options, path)
        bwrap_options.add("--ro-bind", path, path)
    for path in MACHINE:
        _way_to(bwrap_options, path)
        bwrap_options.add("--ro-bind-try", path, path)
    for path in installation.covered:
        _cover(bwrap_options, path)


def _cover(bwrap_options, path):
    if os.path.isdir(path):
        bwrap_options.add("--size", PAGE, "--tmpfs", path, "--remount-ro", path)
    else:
        bwrap_options.add("--ro-bind", "/dev/null", path)


def _way_to(bwrap_options, path):
    # bubblewrap makes the folders above by itself, but so that only root can enter where root made them
    for folder in map(str, reversed(PurePosixPath(path).parents[:-1])):
        if folder not in bwrap_options.ways:
            bwrap_options.ways.add(folder)
            bwrap_options.add("--perms", "0755", "--dir", folder)


def _devices_and_etc(bwrap_options, identity):
    for name in DEVICES:
        bwrap_options.add("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        bwrap_options.add("--symlink", target, f"/dev/{name}")
    written = {
        "passwd": f"student:x:{identity.user}:{identity.user}::/tmp:/bin/sh\n",
        "group": f"student:x:{identity.user}:\n",
        "hosts": f"127.0.0.1 localhost {NAME}\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in written.items():
        bwrap_options.add("--perms", "0444", "--file", bwrap_options.data(text.encode()), f"/etc/{name}")


def _environment(profile):
    return {
        **{"PATH": "/usr/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "USER": "student", "LANG": "C.UTF-8"},
        **{"MPLBACKEND": "Agg", "MPLCONFIGDIR": "/tmp", "IPYTHONDIR": "/tmp/.ipython", "TERM": "dumb"},
        "PYTHONHASHSEED": "0",  # marked again, a set has the same order
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",  # what is installed beside torch and isn't visible here can't be loaded
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), profile.threads),
    }
