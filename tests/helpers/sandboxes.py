"""Real sandboxes for tests: skipped aloud where the machine can't make one; what they left on the machine."""

import fcntl
import os
import struct
import time
from pathlib import Path

import psutil
import pytest

from grader.sandbox import Profile, Sandbox, SandboxUnavailable
from grader.sandbox.cgroup import PREFIX
from grader.sandbox.identity import FIRST_USER, FIRST_USER_OF_A_CONTAINER, LOCKS, USERS, _mapped

#: What stands in the line of a mount that bubblewrap makes; others come and go on a machine that tests other things.
BUBBLEWRAPS = ("newroot", "oldroot", "bubblewrap", "bindfile", "/visible")

AS_ROOT = os.geteuid() == 0


def need_sandboxes():
    """Skip the file, with the machine's own words, where no sandbox can be made; fail where one was promised."""
    try:
        Sandbox(Profile(seconds=20)).run("pass")
    except SandboxUnavailable as missing:
        if os.environ.get("COURSE_MUST_HAVE_SANDBOX"):
            raise
        pytest.skip(f"NOT TESTED HERE, no sandbox can be made: {missing}", allow_module_level=True)


def outside():
    """Return what sandboxes of this process left on this machine: mounts, control groups, processes, files."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    mounts = {line for line in lines if any(word in line for word in BUBBLEWRAPS)}
    # os.walk, since others' groups come and go meanwhile
    groups = {p for p, *_ in os.walk("/sys/fs/cgroup") if os.path.basename(p).startswith(f"{PREFIX}{os.getpid()}-")}
    files = {str(p) for folder in ("/tmp", "/dev/shm", "/var/tmp") for p in Path(folder).glob("sandbox-was-here*")}
    return mounts, groups, abandoned() if AS_ROOT else set(), files


def left_since(before, patience=60):
    """Return what is there since `before` (an `outside()`) and stays for `patience` seconds, as a list.

    What another test's grader leaves where it is killed goes soon after it: it is no leftover of whoever looks.
    """
    deadline = time.monotonic() + patience
    while left := [one for now, then in zip(outside(), before, strict=True) for one in now - then]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return left


def abandoned():
    """Return the processes of a sandbox's user whom no grader holds any more; other graders may be at work here."""
    first = FIRST_USER if _mapped(FIRST_USER + USERS) else FIRST_USER_OF_A_CONTAINER
    found = {p.pid: p.info["uids"].real for p in psutil.process_iter(["uids"]) if p.info["uids"]}
    locks = os.open(LOCKS, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        left = {pid: user for pid, user in found.items() if first <= user < first + USERS and _is_free(locks, user)}
        # another grader's may have ended between the two looks, and its lock with it
        return {pid for pid, user in left.items() if _user_of(pid) == user and _is_free(locks, user)}
    finally:
        os.close(locks)


def _user_of(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except FileNotFoundError:
        return None


def _is_free(locks, user):
    question = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, user, 1, 0)
    return struct.unpack("hhqqi4x", fcntl.fcntl(locks, fcntl.F_OFD_GETLK, question))[0] == fcntl.F_UNLCK
