"""The first program inside: it reports that it is up, reads its orders, limits itself, and runs the student's program.

The orders come through the pipe of requests, so that nothing of them stands in a command line, an environment or a
file. Until they are read no line of a student's has run.
"""

import struct
from collections.abc import Iterable

from grader.sandbox.profile import Profile

#: The first bytes on the pipe of evidence: the sandbox stands. What fails before is the grader's fault.
READY = b"sandbox ready\n"

#: Descriptors inside, after the three that every program has.
REQUESTS, EVIDENCE = 3, 4

#: Addresses that a program may reserve beyond its memory: torch's libraries do. Tables of pages take 1/512 of it.
ADDRESSES = 32 * 1024**3

#: `python -P -s -S -c BOOTSTRAP requests evidence`. High numbers first: 3 may be the pipe that belongs on 4. It then is
#: `__main__` itself, where processes that it starts look for its functions.
BOOTSTRAP = f"""\
import os, sys
a, b = int(sys.argv[1]), int(sys.argv[2])
import fcntl
a, b = fcntl.fcntl(a, fcntl.F_DUPFD, 100), fcntl.fcntl(b, fcntl.F_DUPFD, 100)
os.dup2(a, {REQUESTS}, False)
os.dup2(b, {EVIDENCE}, False)
for name in os.listdir("/proc/self/fd"):
    if int(name) > {EVIDENCE}:
        try: os.close(int(name))
        except OSError: continue
os.write({EVIDENCE}, {READY!r})
def read(count):
    data = b""
    while len(data) < count:
        more = os.read({REQUESTS}, count - len(data))
        if not more:
            os._exit(0)
        data += more
    return data
def start():
    orders = read(int.from_bytes(read(8), "little"))
    program = compile(read(int.from_bytes(read(8), "little")), "<program>", "exec")
    exec(compile(orders, "<orders>", "exec"), {{}})
    sys.argv = [""]
    given = globals()
    for name in [name for name in given if not name.startswith("__")]:
        del given[name]
    given.update(REQUESTS={REQUESTS}, EVIDENCE={EVIDENCE})
    exec(program, given)
start()
"""


def command_line(executable: str, requests: int, evidence: int) -> list[str]:
    """Return the command that runs inside; `requests` and `evidence` are its descriptors' numbers."""
    # not -I: it would not hear PYTHONHASHSEED, and the environment is the grader's alone
    return [executable, "-P", "-s", "-S", "-c", BOOTSTRAP, str(requests), str(evidence)]


def orders(profile: Profile, packages: Iterable[str], processes: int) -> bytes:
    """Return the bytes to send first: how to limit oneself, and where packages are; `program` goes after them.

    `processes`: the most that the kernel allows of this user, wherever they run.
    """
    # private memory of one process, twice the allowance: what is reserved and never touched costs nothing. It makes
    # an honest mistake a MemoryError; who is over the allowance in truth is stopped from outside.
    limits = {
        "RLIMIT_CORE": 1,  # at 0 the kernel would still pass a crash to the machine's own program for them
        "RLIMIT_NOFILE": profile.open_files,
        "RLIMIT_FSIZE": profile.scratch,
        "RLIMIT_DATA": 2 * profile.memory,
        "RLIMIT_AS": 2 * profile.memory + ADDRESSES,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_MEMLOCK": 64 * 1024,
        "RLIMIT_NPROC": processes,
        "RLIMIT_CPU": int(profile.cpu_limit) + 1,
    }
    lines = [
        "import os, resource, sys",
        f"for name, value in {limits!r}.items():",
        "    number = getattr(resource, name, None)",
        "    if number is not None:",
        "        hard = resource.getrlimit(number)[1]",
        "        value = value if hard < 0 else min(value, hard)",
        "        resource.setrlimit(number, (value, value))",
        f"sys.path[:] = [*{list(profile.path)!r}, *sys.path, *{list(packages)!r}]",
        "sys.dont_write_bytecode = True",
    ]
    return "\n".join(lines).encode()


def framed(*parts: bytes) -> bytes:
    """Return `parts`, each after its length in 8 bytes."""
    return b"".join(struct.pack("<Q", len(part)) + part for part in parts)
