"""Running a room's tests against one bug at a time, in a copy of the checkout, each time in a fresh fork.

What takes longest is to import torch and the like. The process that forks has imported the libraries, and each fork
imports the course, with the bug in it, from the copy. A file of tests without torch takes 0.9 s a bug so, and 2.1 s
with a fresh Python, as cosmic-ray's own distributor starts for each (pytest alone, before torch's 2 to 4 s):
so ours stays.
"""

import contextlib
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from tests.slow.mutants.mutations import Mutation
from tests.slow.mutants.rooms import Room

#: What most tests import.
LIBRARIES = ("torch", "numpy", "scipy.signal", "scipy.stats", "hypothesis", "click.testing", "nbformat")
OURS = ("course", "grader", "labs", "simgpu", "tests")
OPTIONS = [
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
    "--hypothesis-profile=same verdict, found sooner",
]


@dataclass(frozen=True)
class Verdict:
    """How the tests ended: `state` is "killed", "survived" or "out of time"; `by` is the first test that failed."""

    state: str
    by: str
    seconds: float


class Trials:
    """A copy of the checkout `root` in which one bug after another is planted. Use it in a `with`: the copy goes."""

    def __init__(self, root: Path, room: Room) -> None:
        self._room = room
        self._folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self._limit, self._seconds, self._planted = 1200.0, {}, 0
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root, stdout=-1, check=True)
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (root / name).is_file():  # a file may be removed and not committed
                (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / name, self._folder / name)
        for name in LIBRARIES:
            importlib.import_module(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def without_a_bug(self) -> Verdict:
        """Run the tests on the code as it is: how long each takes decides which is asked first, and the time limit."""
        verdict = self._run()
        self._seconds = json.loads((self._folder / "seconds.json").read_text()) if verdict.state == "survived" else {}
        self._limit = 60 + 3 * verdict.seconds
        return verdict

    def with_bug(self, mutation: Mutation) -> Verdict:
        """Run the tests with `mutation` planted, until the first of them fails."""
        place, text = self._folder / mutation.file, self.text(mutation)
        self._plant(place, mutation.plant(text))
        try:
            return self._run()
        finally:
            self._plant(place, text)

    def text(self, mutation: Mutation) -> str:
        """Return the file of `mutation` without the bug, as it was when it was copied."""
        return (self._folder / mutation.file).read_text(encoding="utf-8")

    def _plant(self, place, text):
        place.write_text(text, encoding="utf-8")
        self._planted += 1  # a time of its own: Python must not take the bytecode of the text before
        os.utime(place, (self._planted, self._planted))

    def _run(self):
        began, log = time.monotonic(), self._folder / "log"
        child = os.fork()
        if child == 0:
            self._test(log)
        code = _wait(child, began + self._limit)
        said = log.read_text(errors="replace")
        failed = [line.split(" ")[1] for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        state = {0: "survived", None: "out of time"}.get(code, "killed")
        return Verdict(state, (failed or [said[-2000:] if state == "killed" else ""])[0], time.monotonic() - began)

    def _test(self, log):
        """Run the tests in this process, a fork of its own session, and end it."""
        code = 70
        try:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1), os.dup2(output, 2)
            os.chdir(self._folder)
            os.environ["PYTHONPATH"] = sys.path[0] = str(self._folder)
            for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
                del sys.modules[name]
            importlib.invalidate_caches()
            code = pytest.main([*OPTIONS, *self._room.tests], plugins=[_QuickestFirst(self._seconds, self._folder)])
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)


class _QuickestFirst:
    """Asks the files, and in a file the tests, that took least before; and writes down how long each takes."""

    def __init__(self, seconds, folder):
        self._before, self._folder, self._seconds = seconds, folder, {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        files = {}
        for item in items:
            files[item.path] = files.get(item.path, 0) + self._before.get(item.nodeid, 0)
        for item in items if self._before else ():  # a bug may make a test wait for ever
            item.add_marker(pytest.mark.timeout(30 + 5 * self._before.get(item.nodeid, 0)), append=False)
        items.sort(key=lambda item: (files[item.path], str(item.path), self._before.get(item.nodeid, 0)))

    def pytest_runtest_logreport(self, report):
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0) + report.duration

    def pytest_sessionfinish(self):
        (self._folder / "seconds.json").write_text(json.dumps(self._seconds))


def _wait(child, deadline):
    """Return the exit code of `child`; None when it was stopped at `deadline`. What it started ends with it."""
    code = None
    try:
        while code is None and time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
            time.sleep(0 if ended else 0.05)
    finally:  # an interrupt too
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if code is None:
            os.waitpid(child, 0)
    return code
