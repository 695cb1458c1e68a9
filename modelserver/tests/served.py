"""A server of models in a process of its own, as a reader starts it; and small models for it."""

import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import torch

from modelserver import export

PATIENCE = 200.0  # a busy machine imports torch for a long time


class Digits(torch.nn.Module):
    """The chapter's network, 784-100-10; the same for the same seed."""

    def __init__(self, seed=0, inputs=784, hidden=100, outputs=10):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.hidden, self.output = torch.nn.Linear(inputs, hidden), torch.nn.Linear(hidden, outputs)
        for parameter in self.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator) * parameter.shape[-1] ** -0.5

    def forward(self, image):
        return self.classify(torch.sigmoid(self.hidden(image)))

    def classify(self, features):
        return self.output(features)


def export_digits(directory, seed=0, **more):
    """Export the network of `seed` as the next version of the model "digits", which takes images or features."""
    network = Digits(seed)
    more = {"outputs": ["scores"], "signatures": {"features": (network.classify, torch.rand(2, 100))}, **more}
    return export(network, torch.rand(2, 784), directory, name="digits", **more)


def until(condition, awaited="what was awaited"):
    """Wait until `condition()` is true."""
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, f"no {awaited} in {PATIENCE:g} s"
        time.sleep(0.02)


class Served:
    """A server that runs: its `port`, and the lines that it wrote."""

    def __init__(self, process, lines):
        self.process, self.lines, self._written, self.port = process, lines, threading.Condition(), 0

    def read(self):
        for line in self.process.stdout:
            with self._written:
                self.lines.append(line.rstrip())
                self._written.notify_all()
        with self._written:
            self.lines.append(None)
            self._written.notify_all()

    def wait_for(self, pattern, patience=PATIENCE):
        """Return the match of the first line that `pattern` is found in, written or yet to come."""

        def first_match():
            return next((match for line in self.lines if line and (match := re.search(pattern, line))), None)

        with self._written:
            self._written.wait_for(lambda: first_match() or None in self.lines, patience)
            assert first_match(), f"no line with {pattern!r}:\n" + "\n".join(map(str, self.lines))
            return first_match()

    def workers(self):
        """Return the processes of its workers that live."""
        return self._children("worker")

    def readers(self):
        """Return the processes that read large requests; at most one."""
        return self._children("reader")

    def _children(self, module):
        found = []
        for process in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):  # one that was killed, while the server has not noticed
                found += [process] if f"modelserver.compute.{module}" in " ".join(process.cmdline()) else []
        return found

    @property
    def grpc(self):
        """The address of its second port."""
        return self.wait_for(r"by gRPC at (\S+);")[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(directory, *flags, port=0, ends_well=True, deadlines=None, files=None):
    """Serve `directory` on `port`, 0: a free one; give the `Served`. It gets Ctrl-C at the end, and must end well.

    `deadlines`: {name in `modelserver.deadlines`: other seconds}. `files`: how many it may open.
    """
    start = [f"modelserver.deadlines.{name} = {seconds}" for name, seconds in (deadlines or {}).items()]
    if files is not None:
        start.append(f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files // 2}, {files}))")
    source = "\n".join(
        ["import modelserver.deadlines, runpy", *start, "runpy.run_module('modelserver', run_name='__main__')"]
    )
    command = [sys.executable, "-c", source, "serve", str(directory), "--port", str(port), *map(str, flags)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    served = Served(process, [])
    reader = threading.Thread(target=served.read, daemon=True)
    reader.start()
    try:
        served.port = int(served.wait_for(r"at https?://127\.0\.0\.1:(\d+)")[1])
        yield served
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        process.stdout.close()
    assert process.returncode == 0 or not ends_well, "\n".join(map(str, served.lines))
