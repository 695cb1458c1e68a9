"""Who runs inside: a user of its own for each sandbox, given to one at a time."""

import errno
import os
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from grader.sandbox.errors import SandboxUnavailable

#: Users that no system gives away: above those of containers and below those of systemd's own.
FIRST_USER = 1_900_000_000
#: Where only part of the numbers is mapped (a container), these.
FIRST_USER_OF_A_CONTAINER = 64_000
USERS = 900
#: The plain user's name inside a namespace of their own.
NOBODY = 65_534
LOCKS = "/run/course-grading-users.lock"

_turn = threading.Lock()


@dataclass(frozen=True)
class Identity:
    """`user` inside; `own_namespace`: it is a name in a user namespace, for a grader that isn't root."""

    user: int
    own_namespace: bool


@contextmanager
def identity() -> Iterator[Identity]:
    """Give, within the `with`, a user who owns no process of this machine; for a plain user, a namespace of their own.

    Two sandboxes at a time never have the same user, in whatever process their graders are: each holds a lock.
    """
    if os.geteuid() != 0:
        yield Identity(NOBODY, own_namespace=True)
        return
    lock = _open_locks()
    try:
        yield Identity(_assign(lock), own_namespace=False)
    finally:
        os.close(lock)


def _assign(lock):
    import fcntl

    first = FIRST_USER if _mapped(FIRST_USER + USERS) else FIRST_USER_OF_A_CONTAINER
    with _turn:
        busy = {owner for _, owner in _processes()}
        for user in range(first, first + USERS):
            if user in busy or _has_name(user):
                continue
            # one byte a user, of this opened file: other threads' are other opened files, and a dead grader's is closed
            request = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, user, 1, 0)
            try:
                fcntl.fcntl(lock, fcntl.F_OFD_SETLK, request)
                return user
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EAGAIN):
                    raise
    raise SandboxUnavailable(
        f"all {USERS} users from {first} on are in use by other sandboxes. Wait until another grading is done."
    )


def _open_locks():
    """Open the file of locks, the grader's alone: in one that others may open, a lock could be held for ever."""
    try:
        lock = os.open(LOCKS, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SandboxUnavailable(f"{LOCKS} can't be opened ({error.strerror}). Make /run writable for root.") from None
    status = os.fstat(lock)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != 0 or status.st_mode & 0o077:
        os.close(lock)
        raise SandboxUnavailable(f"{LOCKS} is not a file of root's alone. Remove it, then run this again.")
    return lock


def _mapped(user):
    """Tell whether this namespace has `user`: in a container often only the first 65,536 exist."""
    with open("/proc/self/uid_map") as lines:
        ranges = [map(int, line.split()) for line in lines]
    return any(first <= user < first + count for first, _, count in ranges)


def tasks_of(user: int) -> int:
    """Return how many processes and threads `user` has on this machine now."""
    return sum(len(os.listdir(f"/proc/{pid}/task")) for pid, owner in _processes() if owner == user)


def _processes():
    """Yield the number and the owner of every process that can be seen."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(FileNotFoundError):  # it ended while we looked
            yield int(name), os.stat(f"/proc/{name}").st_uid


def _has_name(user):
    import pwd  # not on Windows, where this file must still import

    with suppress(KeyError):
        return bool(pwd.getpwuid(user))
    return False
