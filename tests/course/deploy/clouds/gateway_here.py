"""A real Dask Gateway of our own: its server and proxy on free ports of loopback, its clusters in a private folder."""

import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.helpers.cluster.ports import free_ports
from tests.helpers.shells import eventually

PASSWORD = "a password of the test's"
_CONFIGURATION = """
c.DaskGateway.backend_class = "dask_gateway_server.backends.local.UnsafeLocalBackend"
c.DaskGateway.authenticator_class = "dask_gateway_server.auth.SimpleAuthenticator"
c.SimpleAuthenticator.password = {password!r}
c.Proxy.address = "127.0.0.1:{port}"
c.UnsafeLocalBackend.clusters_directory = {folder!r}
c.UnsafeLocalBackend.sigint_timeout = 0
c.UnsafeLocalBackend.sigterm_timeout = 0
c.UnsafeLocalBackend.cluster_heartbeat_period = 1
c.UnsafeLocalBackend.check_timeouts_period = 0.5
c.LocalClusterConfig.scheduler_cmd = [{python!r}, "-m", "dask", "scheduler"]
c.LocalClusterConfig.worker_cmd = [{python!r}, "-m", "dask", "worker", "--no-nanny"]
c.LocalClusterConfig.idle_timeout = 300
c.LocalClusterConfig.cluster_max_workers = 3
from dask_gateway_server.options import Integer, Options
c.Backend.cluster_options = Options(Integer("worker_cores", 1, min=1, max=2))
"""


@dataclass(frozen=True)
class Gateway:
    """A running gateway. `address`: of its door; `clusters`: the folder with one for each cluster that runs."""

    folder: Path
    port: int
    pid: int

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def clusters(self):
        return sorted(path.name for path in (self.folder / "clusters").iterdir())

    @property
    def environment(self):
        """What a process needs to be let in: auth="basic" then finds the password in Dask's configuration."""
        return {"DASK_GATEWAY__AUTH__KWARGS__PASSWORD": PASSWORD}

    def processes(self):
        """Return the pids of what it started, besides its own two."""
        found = []
        for one in psutil.Process(self.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                found += [one.pid] if "dask-gateway-proxy" not in one.name() else []
        return found


@contextmanager
def gateway_here():
    """Within the `with`, a `Gateway` runs."""
    folder = Path(tempfile.mkdtemp(prefix="gateway-"))
    (folder / "clusters").mkdir()
    [port] = free_ports(1)
    told = {"password": PASSWORD, "port": port, "folder": str(folder / "clusters"), "python": sys.executable}
    (folder / "configuration.py").write_text(_CONFIGURATION.format(**told))
    command = [sys.executable, "-m", "dask_gateway_server", "-f", str(folder / "configuration.py")]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, start_new_session=True)
    here = Gateway(folder, port, server.pid)
    try:
        eventually(lambda: _answers(here.address))
        yield here
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(60)
        finally:
            for process in [one for one in psutil.process_iter() if _of(one, folder)]:
                process.kill()
            server.kill()
            server.wait(10)
            shutil.rmtree(folder, ignore_errors=True)


def _of(process, folder):
    with suppress(psutil.Error):
        return str(folder) in process.cwd()
    return False


def _answers(address):
    with suppress(OSError), urllib.request.urlopen(f"{address}/api/health", timeout=5):
        return True
    return False
