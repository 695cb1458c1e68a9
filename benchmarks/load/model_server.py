"""What the topic of serving starts: the networks that are served, exported once, and a server from start to end."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import filelock
import psutil

EXPORTING = 100.0  # seconds for a process to load torch's exporter, which takes some, and export the networks
READY = 120.0  # seconds for a server to answer: it loads torch in two processes
NETWORKS = ("small", "convolutions", "dense")


def exported(models: str | Path) -> Path:
    """Return the folder, below `models`, of the exported networks.

    Whoever comes first exports them, in a process of its own, and the others wait; raises CalledProcessError.
    """
    folder = Path(models) / "exported"
    with filelock.FileLock(Path(models) / "lock"):
        if not folder.exists():
            program = f"import {__name__} as here; here.export_networks({str(folder)!r})"
            subprocess.run([sys.executable, "-c", program], check=True, timeout=EXPORTING, stdout=subprocess.DEVNULL)
    return folder


@contextmanager
def served(models: str | Path, *flags: str) -> Iterator["Server"]:
    """Start `python -m course serve` with one worker on the networks below `models`; give it once it is ready."""
    second = _free_port()
    command = [sys.executable, "-m", "course", "serve", str(exported(models)), "--workers", "1"]
    with started([*command, *flags, "--grpc-port", str(second), "--port"], "/v2/health/ready") as server:
        server.grpc_port = second
        yield server


class Server:
    """A server at `port`, whose first process is `pid`; one of ours has a `grpc_port` too."""

    grpc_port = 0

    def __init__(self, port: int, pid: int):
        self.port, self._pid = port, pid

    def pids(self) -> list[int]:
        """Return its processes' ids."""
        root = psutil.Process(self._pid)
        return [one.pid for one in (root, *root.children(recursive=True))]


@contextmanager
def started(command: Sequence[str], path: str) -> Iterator[Server]:
    """Start `command` with a free port behind it; give the server once it answers at `path`, and end it.

    Raises RuntimeError when it ends by itself, or does not answer.
    """
    port = _free_port()
    process = subprocess.Popen([*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port, path, process)
        yield Server(port, process.pid)
    finally:
        below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for one in psutil.wait_procs(below, 5)[1]:
            one.kill()


def _wait(port, path, process):
    ends = time.monotonic() + READY
    while time.monotonic() < ends:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).close()
            return
        except urllib.error.HTTPError as error:
            if error.code != 503:  # a peer's address that takes POST only
                return
            time.sleep(0.1)
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server was not ready in {READY:.0f} s")


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def export_networks(folder: str) -> None:
    """Export the networks into `folder`, each under its name."""
    import torch

    from modelserver import export

    for kind in NETWORKS:
        export(_network(kind), torch.rand(2, 784), folder, name=kind)


def _network(kind):
    import torch

    torch.manual_seed(0)
    if kind == "small":
        layers = torch.nn.Linear(784, 100), torch.nn.Sigmoid(), torch.nn.Linear(100, 10)
    elif kind == "dense":
        first = torch.nn.Linear(784, 2048), torch.nn.ReLU()
        layers = *first, torch.nn.Linear(2048, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10)
    else:
        first = torch.nn.Unflatten(1, (1, 28, 28)), torch.nn.Conv2d(1, 32, 3), torch.nn.ReLU()
        second = torch.nn.Conv2d(32, 64, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
        layers = *first, *second, torch.nn.Flatten(), torch.nn.Linear(9216, 10)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(*layers)

        def forward(self, image):
            return self.layers(image)

    return Net()
