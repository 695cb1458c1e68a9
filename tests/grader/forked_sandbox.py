"""`UnsafeSandbox` without the start of a Python and its imports: each process is a fork of one that has imported torch.

For tests that mark many submissions and are about what is marked, not about what a sandbox keeps in. A fork takes
hundredths of a second where a Python that imports torch takes two.
"""

import array
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.installation import PACKAGES
from grader.sandbox.unsafe import ENVIRONMENT, UnsafeProcess, UnsafeSandbox

#: The process that forks: it gets four descriptors and a folder at a time, and answers with the number of the fork.
_SERVER = """\
import array, importlib, json, os, signal, socket, sys
sys.path += json.loads(sys.argv[2])
for name in json.loads(sys.argv[3]):
    importlib.import_module(name)
link = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
def read(count):
    data = b""
    while len(data) < count:
        data += os.read(REQUESTS, count - len(data)) or os._exit(0)
    return data
while True:
    folder, ancillary, *_ = link.recvmsg(4096, socket.CMSG_SPACE(16))
    if not folder:
        os._exit(0)
    descriptors = array.array("i", ancillary[0][2])
    if pid := os.fork():
        os.setpgid(pid, pid)  # whoever learns its number may kill its group at once
        for descriptor in descriptors:
            os.close(descriptor)
        link.sendall(pid.to_bytes(4, "little"))
        continue
    break
link.close()
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
os.setpgid(0, 0)
stdout, stderr, REQUESTS, EVIDENCE = descriptors
os.dup2(stdout, 1), os.dup2(stderr, 2), os.close(stdout), os.close(stderr)
os.environ["HOME"] = os.fsdecode(folder)
os.chdir(os.path.join(os.fsdecode(folder), "work"))
first, program = (read(int.from_bytes(read(8), "little")) for _ in range(2))
exec(first)
exec(compile(program, "<program>", "exec"), {"__name__": "__main__", "REQUESTS": REQUESTS, "EVIDENCE": EVIDENCE})
"""


class ForkServer:
    """A Python that has imported `libraries` and forks. Use it in a `with`; `sandbox` stands where `Sandbox` does."""

    def __init__(self, libraries=("numpy", "torch")):
        self._link, theirs = socket.socketpair()
        packages = [path for path in sys.path if path.endswith(PACKAGES)]
        arguments = [str(theirs.fileno()), json.dumps(packages), json.dumps(libraries)]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-S", "-c", _SERVER, *arguments],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**ENVIRONMENT, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},  # a fork has one thread, the caller's
        )
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._link.close()
        self._process.wait(60)

    def sandbox(self, profile):
        """Return a sandbox whose `start` forks."""
        return _ForkedSandbox(profile, self)

    def fork(self, folder, *descriptors):
        """Return the number of a fork that works in `folder`: stdout, stderr, requests and evidence are given."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._link.sendmsg([os.fsencode(folder)], rights)
        return int.from_bytes(self._link.recv(4), "little")


@dataclass(frozen=True)
class _ForkedSandbox(UnsafeSandbox):
    server: ForkServer = None

    def _process(self, folder):
        return _ForkedProcess(self.profile, folder, self.server)


class _ForkedProcess(UnsafeProcess):
    def __init__(self, profile, folder, server):
        self._server = server
        super().__init__(profile, folder)

    def _start(self, folder, stdout, stderr, requests, evidence):
        return _Fork(self._server.fork(folder, stdout.fileno(), stderr.fileno(), requests, evidence))

    def processor_seconds(self):
        """Return what its threads used so far, as Linux counts it: a busy machine must not decide a test's race."""
        try:
            threads = list(Path(f"/proc/{self._process.pid}/task").glob("*/schedstat"))
            return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9 if threads else None
        except (FileNotFoundError, ProcessLookupError):  # a thread that ended meanwhile
            return None


@dataclass(frozen=True)
class _Fork:
    pid: int

    def wait(self):
        """Wait until it is gone. How it ended nobody knows: it is no child of this process."""
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(self.pid, 0)
                time.sleep(0.001)
