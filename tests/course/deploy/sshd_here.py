"""A real SSH server of our own: sshd in a private folder, on a free port of loopback, with its own keys."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.helpers.cluster.ports import free_ports

_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_CONFIGURATION = """
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
MaxSessions 2
"""


def need_sshd():
    """Skip the file aloud where there is no sshd; fail where one was promised."""
    for name in ("sshd", "ssh-keygen"):
        if shutil.which(name, path=_PATH) is None:
            assert "COURSE_MUST_HAVE_SSHD" not in os.environ, f"no {name} was found"
            said = f"NOT TESTED HERE, there is no {name}: `apt install openssh-server` on Debian and Ubuntu"
            pytest.skip(said, allow_module_level=True)


@dataclass(frozen=True)
class Sshd:
    """A running sshd. `host`: what to log in to; `key`: a key that it takes, `stranger` one that it doesn't."""

    folder: Path
    port: int
    address: str = "127.0.0.1"

    @property
    def host(self):
        return f"{self.address}:{self.port}"

    @property
    def key(self):
        return str(self.folder / "own_key")

    @property
    def stranger(self):
        return str(self.folder / "other_key")

    @property
    def known_hosts(self):
        return str(self.folder / "known_hosts")

    @property
    def options(self):
        return {"hosts": [self.host], "key": self.key, "known_hosts": self.known_hosts}


@contextmanager
def sshd_here(far=None):
    """Within the `with`, an `Sshd` of this user runs, on loopback or on the host `far` of `two_hosts`."""
    folder = Path(tempfile.mkdtemp(prefix="sshd-"))
    try:
        for name in ("host_key", "own_key", "other_key"):
            make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(make, check=True, timeout=60)
        shutil.copy(folder / "own_key.pub", folder / "authorized_keys")
        here = Sshd(folder, free_ports(1)[0], far.address if far else "127.0.0.1")
        key = (folder / "host_key.pub").read_text().strip()
        Path(here.known_hosts).write_text(f"[{here.address}]:{here.port} {key}\n")
        settings = _CONFIGURATION.format(address=here.address, port=here.port, folder=folder)
        (folder / "sshd_config").write_text(settings)
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd of root's insists on it
        command = [shutil.which("sshd", path=_PATH), "-D", "-e", "-f", str(folder / "sshd_config")]
        with open(folder / "log", "wb") as log:
            settings = {"stderr": log, "start_new_session": True}
            server = far.start(*command, **settings) if far else subprocess.Popen(command, **settings)
        try:
            _eventually(here, psutil.Process(server.pid), reached=far is not None)
            yield here
        finally:
            server.terminate()
            server.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _eventually(here, server, reached):
    """Wait until it answers (unless that is settled), and says in its process's title that it is idle."""
    deadline = time.monotonic() + 60
    while not reached or " 0 of " not in " ".join(server.cmdline()):
        with suppress(OSError):
            if not reached:
                socket.create_connection(("127.0.0.1", here.port), 5).close()
                reached = True
        assert time.monotonic() < deadline, (here.folder / "log").read_text()
        time.sleep(0.05)
