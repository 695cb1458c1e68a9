"""The filter of system calls, run by a small machine for classic BPF: both architectures, on any one."""

import errno
import platform
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.sandbox import SandboxUnavailable
from grader.sandbox.seccomp import (
    ABSENT,
    ALLOW,
    ARCHITECTURES,
    CLONE,
    ERROR,
    HIGHEST,
    IOCTL,
    KILL,
    MACHINES,
    NEW_NAMESPACE,
    REFUSED,
    SOCKET,
    seccomp_filter,
)

NO = ERROR | errno.EPERM
NO_SUCH_CALL = ERROR | errno.ENOSYS
#: What Python and numpy can't do without: read, write, openat, mmap, munmap, execve, futex, exit_group.
EVERYDAY = {"x86_64": (0, 1, 257, 9, 11, 59, 202, 231), "aarch64": (63, 64, 56, 222, 215, 221, 98, 94)}


def ask(filter_, number, arguments=(), architecture="x86_64"):
    """Return what the filter answers to a call: the specification of BPF's seven instructions that it is made of."""
    arguments = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=iIQ6Q", number, architecture, 0, *arguments)
    program = list(struct.iter_unpack("=HBBI", filter_))
    accumulator, at = 0, 0
    while True:
        code, when, otherwise, value = program[at]
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x45: bool(accumulator & value)}[code]
            at += when if holds else otherwise


@pytest.fixture(params=MACHINES)
def machine(request):
    return request.param


def answer(machine, number, *arguments, network="none"):
    return ask(seccomp_filter(network, machine), number, arguments, ARCHITECTURES[machine])


def test_what_every_program_needs_is_allowed(machine):
    assert {answer(machine, number) for number in EVERYDAY[machine]} == {ALLOW}


def test_every_call_of_the_table_is_refused(machine):
    column = MACHINES.index(machine)
    for calls, wanted in ((REFUSED, NO), (ABSENT, NO_SUCH_CALL)):
        for name, numbers in calls.items():
            if numbers[column] is not None:
                assert answer(machine, numbers[column]) == wanted, name


def test_no_number_of_the_table_stands_there_twice(machine):
    column = MACHINES.index(machine)
    numbers = [row[column] for row in (*REFUSED.values(), *ABSENT.values(), CLONE, SOCKET, IOCTL)]
    numbers = [number for number in numbers if number is not None]
    assert len(numbers) == len(set(numbers))


@given(st.integers(HIGHEST + 1, 2**32 - 1), st.sampled_from(MACHINES))
def test_a_call_that_is_newer_than_the_table_does_not_exist(number, machine):
    signed = number - 2**32 if number >= 2**31 else number  # with bit 30: the calls of x32
    assert answer(machine, signed) == NO_SUCH_CALL


@given(st.integers(0, 2**64 - 1), st.sampled_from(MACHINES))
def test_a_process_may_be_made_but_not_with_a_namespace_of_its_own(flags, machine):
    wanted = NO if flags & NEW_NAMESPACE else ALLOW
    assert answer(machine, CLONE[MACHINES.index(machine)], flags) == wanted


@given(st.integers(0, 64), st.integers(0, 300), st.sampled_from(MACHINES), st.sampled_from(["none", "loopback"]))
def test_sockets_are_of_the_families_and_protocols_that_the_profile_has(family, protocol, machine, network):
    allowed = family == 1
    if network == "loopback":
        allowed |= (family in (2, 10) and protocol in (0, 6, 17)) or (family, protocol) == (16, 0)
    wanted = ALLOW if allowed else ERROR | errno.EAFNOSUPPORT
    number = SOCKET[MACHINES.index(machine)]
    assert answer(machine, number, family, 1, protocol, network=network) == wanted


def test_sockets_that_a_cluster_inside_needs_are_allowed(machine):
    number = SOCKET[MACHINES.index(machine)]
    for family, protocol in ((1, 0), (2, 0), (2, 6), (10, 17), (16, 0)):
        assert answer(machine, number, family, 1 | 0o2000000, protocol, network="loopback") == ALLOW


def test_nobody_types_into_the_graders_terminal(machine):
    number = IOCTL[MACHINES.index(machine)]
    assert (answer(machine, number, 0, 0x5412), answer(machine, number, 0, 0x5413)) == (NO, ALLOW)
    assert answer(machine, number, 0, 0x5412 | 7 << 32) == NO  # the kernel cuts the upper half off, so the filter must


def test_a_call_for_another_architecture_kills(machine):
    filter_ = seccomp_filter("none", machine)
    for architecture in (0x40000003, 0x40000028, ARCHITECTURES[MACHINES[1 - MACHINES.index(machine)]]):
        assert ask(filter_, 1, architecture=architecture) == KILL


def test_the_numbers_are_the_ones_of_this_machines_headers():
    # asked of the kernel's own list where there is one: a wrong number refuses the wrong call
    headers = {
        "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
        "aarch64": "/usr/include/asm-generic/unistd.h",
    }
    read = 0
    for column, machine in enumerate(MACHINES):
        path = Path(headers[machine])
        if not path.exists():
            continue
        names = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)", path.read_text()))
        for name, numbers in {**REFUSED, **ABSENT, "clone": CLONE, "socket": SOCKET, "ioctl": IOCTL}.items():
            known = names.get({"sysctl": "_sysctl"}.get(name, name))
            if known is not None:
                read += 1
                assert numbers[column] == int(known), f"{name} on {machine}"
    if not read:
        pytest.skip(f"no headers of the kernel on this {platform.machine()}: numbers compared with nothing")


def test_a_machine_that_is_not_known_is_named():
    with pytest.raises(SandboxUnavailable, match="riscv64.*x86_64 and aarch64"):
        seccomp_filter("none", "riscv64")
