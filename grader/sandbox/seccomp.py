"""The filter of system calls, as the bytes of a classic BPF program.

Made by hand: libseccomp's Python binding comes with the system's own Python only, not with the one that grades.

Everything is allowed but what `syscalls.py` names: an allow-list would have to follow every release of numpy and torch.
Calls newer than that table don't exist for the program, and a call for another architecture kills it.
"""

import errno
import platform
import struct
from functools import lru_cache

from grader.sandbox.errors import SandboxUnavailable
from grader.sandbox.syscalls import ABSENT, CLONE, HIGHEST, IOCTL, MACHINES, REFUSED, SOCKET

# linux/bpf_common.h and linux/seccomp.h
LOAD, EQUAL, ABOVE, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
NEW_NAMESPACE = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # type into a terminal

#: network -> the socket families it has, and the protocols of each (None: any). AF_UNIX always: it ends in the sandbox.
#: AF_INET and AF_INET6 have TCP and UDP; AF_NETLINK only what lists addresses. Others had bugs of their own.
FAMILIES = {"none": {1: None}, "loopback": {1: None, 2: (0, 6, 17), 10: (0, 6, 17), 16: (0,)}}


@lru_cache
def seccomp_filter(network: str = "none", machine: str | None = None) -> bytes:
    """Return the filter's bytes for `machine` (this one's by default), with the socket families that `network` has."""
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise SandboxUnavailable(
            f"seccomp_filter(machine={machine!r}): the system calls of {' and '.join(MACHINES)} are known here. "
            "Grade on such a machine."
        )
    column = MACHINES.index(machine)
    program = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (ABOVE, 0, 1, HIGHEST),
        (RETURN, 0, 0, ERROR | errno.ENOSYS),
        *_each(REFUSED, column, errno.EPERM),
        *_each(ABSENT, column, errno.ENOSYS),
        *_argument(CLONE[column], 0, [(ANY_BIT, NEW_NAMESPACE)], ERROR | errno.EPERM, ALLOW),
        *_argument(IOCTL[column], 1, [(EQUAL, TIOCSTI), (EQUAL, TIOCLINUX)], ERROR | errno.EPERM, ALLOW),
        *_sockets(SOCKET[column], FAMILIES[network], ERROR | errno.EAFNOSUPPORT),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _each(calls, column, error):
    """Yield, for each of `calls` that this machine has: is it this one? then `error`."""
    for numbers in calls.values():
        if numbers[column] is not None:
            yield from ((EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, ERROR | error))


def _argument(number, index, tests, when_any, otherwise):
    """Yield: for call `number`, `when_any` of the `tests` holds for its argument `index`, that; `otherwise`, the other.

    Only the low half of the argument is looked at: these calls take ints, and the kernel cuts off the rest.
    """
    body = _answer(index, tests, when_any, otherwise)
    yield from ((EQUAL, 0, len(body), number), *body)


def _sockets(number, families, refusal):
    """Yield: a socket of one of `families`, with one of its protocols, is allowed; any other is answered `refusal`."""
    body = [(LOAD, 0, 0, ARGUMENTS_AT)]
    for family, protocols in families.items():
        wanted = [(RETURN, 0, 0, ALLOW)]
        if protocols is not None:
            wanted = _answer(2, [(EQUAL, protocol) for protocol in protocols], ALLOW, refusal)
        body += [(EQUAL, 0, len(wanted), family), *wanted]
    body.append((RETURN, 0, 0, refusal))
    yield from ((EQUAL, 0, len(body), number), *body)


def _answer(index, tests, when_any, otherwise):
    body = [(LOAD, 0, 0, ARGUMENTS_AT + 8 * index)]
    for operation, value in tests:
        body += [(operation, 0, 1, value), (RETURN, 0, 0, when_any)]
    return [*body, (RETURN, 0, 0, otherwise)]
