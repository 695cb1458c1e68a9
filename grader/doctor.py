"""What this machine has and lacks for grading: a line each, with the remedy for what is missing."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psutil

from grader.sandbox import Profile, Sandbox, SandboxUnavailable
from grader.sandbox.cgroup import control_group
from grader.sandbox.identity import identity
from grader.sandbox.profile import MIB
from grader.sandbox.sandbox import ELSEWHERE
from grader.sandbox.seccomp import seccomp_filter

OLDEST_BUBBLEWRAP = (0, 8)  # the first that can say how large a file system of memory is
MEMORY = 2048 * MIB
DISK = 1024 * MIB

#: A program that prints what is open about the sandbox it runs in, or "closed".
QUESTIONS = """\
import os, socket
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status'))
wrong = [name for name in ('CapPrm', 'CapEff', 'CapBnd') if int(status[name], 16)]
wrong += [name for name, value in (('NoNewPrivs', '1'), ('Seccomp', '2')) if status[name].strip() != value]
wrong += ['user'] * (0 in (os.getuid(), os.getgid())) + ['files'] * os.path.exists('/etc/shadow')
try: wrong.append(socket.socket().fileno() and 'network')
except OSError: pass
try: import numpy
except Exception as error: print(f'no numpy: {error!r}')
print(' '.join(wrong) or 'closed')
"""


@dataclass(frozen=True)
class Finding:
    """One line: `state` is "ok", "missing" (no marks can be made) or "note" (they can, but read this)."""

    state: str
    text: str

    def __str__(self) -> str:
        return f"{ {'ok': '✓', 'missing': '✕', 'note': '!'}[self.state] } {self.text}"


def diagnose(course_folder: Path | str | None = None) -> Iterator[Finding]:
    """Yield a `Finding` for each thing that grading needs here, and for `course_folder` where one is given."""
    if not sys.platform.startswith("linux"):
        yield Finding("missing", f"{platform.system()}: {ELSEWHERE}")
        return
    yield Finding("ok", f"Python {platform.python_version()}, Linux {platform.release()} on {platform.machine()}")
    yield _bubblewrap()
    for subject, look in (("users for sandboxes", _user), ("filter of system calls", _filter), ("a sandbox", _sandbox)):
        try:
            yield look()
        except SandboxUnavailable as missing:
            yield Finding("missing", f"{subject}: {missing}")
    yield _counted_by()
    yield _memory()
    yield _disk(course_folder or os.getcwd())
    yield from _nbgrader()
    if course_folder is not None:
        yield from _course(Path(course_folder))


def _bubblewrap():
    path = shutil.which("bwrap")
    if path is None:
        return Finding("missing", "bubblewrap: not found. Install it (Debian, Ubuntu: apt-get install bubblewrap)")
    version_text = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20).stdout
    version = tuple(map(int, re.findall(r"\d+", version_text)[:2]))
    if version < OLDEST_BUBBLEWRAP:
        oldest = ".".join(map(str, OLDEST_BUBBLEWRAP))
        return Finding(
            "missing", f"{version_text.strip()}: {oldest} is the oldest that limits files. Install a newer one"
        )
    return Finding("ok", f"{version_text.strip()} ({path})")


def _user():
    with identity() as user:
        if user.own_namespace:
            return Finding("ok", f"user {os.geteuid()}: sandboxes in user namespaces of their own")
        if shutil.which("setpriv") is None:
            return Finding("missing", "setpriv: not found. Install util-linux 2.33 or newer")
        return Finding("ok", f"root: each sandbox gets a user of its own (the next: {user.user}), by setpriv")


def _filter():
    size = len(seccomp_filter())
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    actions_available = actions.read_text().split() if actions.exists() else []
    if not {"kill_process", "errno", "allow"} <= set(actions_available):
        return Finding("missing", "filter of system calls: this kernel has no seccomp. Take another (4.14 or newer)")
    return Finding("ok", f"filter of system calls: {size // 8} instructions")


def _sandbox():
    ended = Sandbox(Profile(seconds=20)).run(QUESTIONS)
    printed = ended.stdout.strip()
    if printed.startswith("no numpy"):
        text = f"a sandbox came up, but what is installed can't be read in it: {printed.splitlines()[0]}"
        return Finding("missing", f"{text}. Let everybody read it (chmod -R a+rX), or install it again with umask 022")
    if printed != "closed":
        symptom = printed or ended.stderr.strip()[-300:]
        return Finding("missing", f"a sandbox came up, but is open: {symptom}. Report this")
    return Finding("ok", f"a sandbox came up and is closed ({ended.seconds * 1000:.0f} ms)")


def _counted_by():
    with control_group(64 * MIB, 8) as group:
        if group.counts_memory:
            return Finding("ok", "memory and processes: counted by the kernel (a control group for each sandbox)")
    watched = "no control group can be made here, so a watcher looks 20 times a second"
    return Finding("note", f"memory and processes: {watched}")


def _memory():
    free = psutil.virtual_memory().available
    text = f"memory: {free // MIB} MB free"
    hint = f"a lab may take 1 GB and the grader as much: close what else runs, or grade with --jobs 1 ({text})"
    return Finding("ok", text) if free >= MEMORY else Finding("note", f"memory is short; {hint}")


def _disk(folder):
    while not os.path.isdir(folder):
        folder = os.path.dirname(os.path.abspath(folder))
    free = shutil.disk_usage(folder).free
    text = f"disk of {folder}: {free // MIB} MB free"
    return Finding("ok", text) if free >= DISK else Finding("missing", f"{text}. Make room: 1 GB")


def _nbgrader():
    if importlib.util.find_spec("nbgrader") is None:
        yield Finding("note", "nbgrader: not installed, so no gradebook, only files. pip install nbgrader, if wanted")
        return
    yield Finding("ok", f"nbgrader {importlib.metadata.version('nbgrader')}")
    # nbgrader starts it as a program when it makes or brings up a gradebook; the grader looks beside Python too
    alembic = shutil.which("alembic") or shutil.which("alembic", path=os.path.dirname(sys.executable))
    absent = Finding("missing", "alembic: not found, and a new gradebook needs it. pip install alembic")
    yield Finding("ok", f"alembic: {alembic}") if alembic else absent


def _course(folder):
    if not folder.is_dir():
        yield Finding("missing", f"{folder}: not a folder. Give the class's folder, with submitted/ in it")
        return
    if not (folder / "submitted").is_dir():
        yield Finding("note", f"{folder}: no submitted/ in it yet. `python -m grader import` makes it")
    for path in [
        folder,
        *sorted(folder.glob("*.db")),
        *sorted(folder.glob("*secret*")),
        *sorted(folder.glob("grading/secret*")),
    ]:
        yield (_broken(path) if path.suffix == ".db" else None) or _rights(path)


def _broken(path):
    """Return the `Finding` about a gradebook that SQLite can't read; None where it can, or where it is a link."""
    if path.is_symlink():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as book:
            answer = book.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.OperationalError:  # in use, or not readable
        return None
    except sqlite3.DatabaseError as error:
        answer = str(error)
    return None if answer == "ok" else Finding("missing", f"{path}: broken ({answer}). Put a backup in its place")


def _rights(path):
    status = path.lstat()
    others = stat.S_IMODE(status.st_mode) & (0o022 if stat.S_ISDIR(status.st_mode) else 0o077)
    if stat.S_ISLNK(status.st_mode):
        return Finding("note", f"{path} is a link: put the file itself here")
    if others:
        wanted = "go-w" if path.is_dir() else "go-rwx"
        return Finding("missing", f"{path}: others may {'write' if path.is_dir() else 'use'} it. chmod {wanted} {path}")
    return Finding("ok", f"{path}: yours alone to {'change' if path.is_dir() else 'use'}")
