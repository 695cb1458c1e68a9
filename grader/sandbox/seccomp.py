"""The filter of system calls, as the bytes of a classic BPF program.

Made by hand: libseccomp's Python binding comes with the system's own Python only, not with the one that grades.

Everything is allowed but what stands here: an allow-list would have to follow every release of numpy and torch. The
kernel checks rights on most of these calls anyway; refusing them takes their bugs out of reach too. Calls newer than
the tables don't exist for the program, and a call for another architecture kills it.
"""

import errno
import platform
import struct
from functools import lru_cache

from grader.sandbox.errors import SandboxUnavailable

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

MACHINES = tuple(ARCHITECTURES)

#: Refused with "operation not permitted": (number on x86_64, on aarch64); None where that machine has no such call.
# fmt: off
REFUSED = {
    # other processes' memory and descriptors
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    # the kernel's key rings: not in a namespace, so a secret of another's could be found there
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # new namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "swapon": (167, 224), "swapoff": (168, 225), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # code in the kernel, and the machine itself
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "syslog": (103, 116), "acct": (163, 89),
    "personality": (135, 92), "lookup_dcookie": (212, 18), "vhangup": (153, 58), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "sethostname": (170, 161),
    "setdomainname": (171, 162), "migrate_pages": (256, 238), "move_pages": (279, 239), "mbind": (237, 235),
    "set_mempolicy": (238, 237), "set_mempolicy_home_node": (450, 450), "uselib": (134, None),
    "ustat": (136, None), "sysfs": (139, None), "modify_ldt": (154, None), "sysctl": (156, None),
    "iopl": (172, None), "ioperm": (173, None), "create_module": (174, None), "get_kernel_syms": (177, None),
    "query_module": (178, None), "nfsservctl": (180, 42),
    # memory that belongs to no process: a watcher over processes would not see it
    "shmget": (29, 194), "memfd_secret": (447, 447),
}

#: Answered with "no such call": libraries then take the older way, whose arguments the filter can see.
ABSENT = {
    "clone3": (435, 435),  # its flags lie in memory, where no filter can look
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
}
# fmt: on

#: Calls whose arguments decide.
CLONE = (56, 220)
SOCKET = (41, 198)
IOCTL = (16, 29)

#: The highest number looked at when this table was made. What a newer kernel adds, and x86's x32 calls, don't exist.
HIGHEST = 456


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
        *_only(CLONE[column], _answer(0, [(ANY_BIT, NEW_NAMESPACE)], ERROR | errno.EPERM, ALLOW)),
        *_only(IOCTL[column], _answer(1, [(EQUAL, TIOCSTI), (EQUAL, TIOCLINUX)], ERROR | errno.EPERM, ALLOW)),
        *_only(SOCKET[column], _sockets(FAMILIES[network], ERROR | errno.EAFNOSUPPORT)),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _each(calls, column, error):
    """Yield, for each of `calls` that this machine has: is it this one? then `error`."""
    for numbers in calls.values():
        if numbers[column] is not None:
            yield from ((EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, ERROR | error))


def _only(number, body):
    return [(EQUAL, 0, len(body), number), *body]


def _sockets(families, refusal):
    """Return: a socket of one of `families`, with one of its protocols, is allowed; any other is answered `refusal`."""
    body = [(LOAD, 0, 0, ARGUMENTS_AT)]
    for family, protocols in families.items():
        wanted = [(RETURN, 0, 0, ALLOW)]
        if protocols is not None:
            wanted = _answer(2, [(EQUAL, protocol) for protocol in protocols], ALLOW, refusal)
        body += [(EQUAL, 0, len(wanted), family), *wanted]
    return [*body, (RETURN, 0, 0, refusal)]


def _answer(index, tests, when_any, otherwise):
    """Return: `when_any` of the `tests` holds for argument `index` (its low half: these calls take ints), that."""
    body = [(LOAD, 0, 0, ARGUMENTS_AT + 8 * index)]
    for operation, value in tests:
        body += [(operation, 0, 1, value), (RETURN, 0, 0, when_any)]
    return [*body, (RETURN, 0, 0, otherwise)]
