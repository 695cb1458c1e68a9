"""simgpu's tests in one environment: how they are run, what they gave, and that as lines."""

import os
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.slow.torches.environments import ROOT

#: All that is about simgpu.
ALL = ("tests/simgpu", "tests/slow/conformance")
#: In the quick form: without what starts many processes, a third of the time.
SLOWEST = ("cuda/test_nccl.py", "start/test_pytest_plugin.py", "start/test_run.py")
QUICK = ("tests/simgpu", *(f"--ignore=tests/simgpu/{name}" for name in SLOWEST))
SECONDS = {True: 1800, False: 4 * 3600}  # quick or not: against a test that hangs


@dataclass(frozen=True)
class Run:
    """What became of one torch: `told`, of its build, in lines; how many tests `passed`, `failed` and were `skipped`.

    `failures`: their names. `skips`: how often which reason was given. `missing`: why this torch couldn't be had.
    `wrong`: what else failed.
    """

    torch: str
    notes: list[str] = field(default_factory=list)
    passed: int = 0
    skips: Counter = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0
    missing: str = ""
    wrong: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.failures or self.wrong)


def run(python: str, torch: str, quick: bool, lanes: int) -> Run:
    """Try the build and run the tests by `python`, showing what pytest says; return a `Run`."""
    notes, wrong = without_driver(python)
    report = ROOT / "build" / "torches" / f"{'.'.join(torch.split('.')[:2])}.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-n", str(lanes), "-p", "no:cacheprovider", f"--junitxml={report}"]
    began = time.monotonic()
    try:
        status = subprocess.run(
            [*command, *(QUICK if quick else ALL)], cwd=ROOT, env=environ(), timeout=SECONDS[quick]
        ).returncode
    except subprocess.TimeoutExpired:
        status = f"not done after {SECONDS[quick]} s"
    return counted(report, status, Run(torch, notes, seconds=time.monotonic() - began, wrong=wrong))


def without_driver(python: str) -> tuple[list[str], str]:
    """Return what the build was tried for, in lines, and what went wrong, or ""."""
    command = [python, "-W", "ignore", "-m", "tests.slow.torches.without_driver"]
    done = subprocess.run(command, cwd=ROOT, env=environ(), capture_output=True, text=True, timeout=900)
    return done.stdout.splitlines(), done.stderr.strip() if done.returncode else ""


def environ() -> dict[str, str]:
    """Return the environment's variables without those that change what Python or simgpu does."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "SIMGPU"))}


def counted(report: Path, status: int | str, run: Run) -> Run:
    """Return the `run` with the counts of pytest's `report`; no report, no test passed, or a bad `status` is wrong."""
    cases = list(ElementTree.parse(report).iter("testcase")) if report.is_file() else []
    failures = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    skips = Counter(element.get("message", "") for case in cases for element in case.findall("skipped"))
    passed = len(cases) - len(failures) - sum(skips.values())
    wrong = run.wrong or ("" if passed and (status == 0 or failures) else f"pytest ended with {status}")
    return Run(run.torch, run.notes, passed, skips, failures, run.seconds, "", wrong)


def lines(run: Run) -> list[str]:
    """Return what a run gave, for people."""
    if run.missing:
        return [f"torch {run.torch}: could not be had. {run.missing}"]
    skipped = sum(run.skips.values())
    counts = f"{run.passed} passed, {len(run.failures)} failed, {skipped} skipped in {run.seconds:.0f} s"
    head, *notes = run.notes or [f"torch {run.torch}"]
    report_lines = [f"{head}", f"  {counts}", *(f"  {line}" for line in notes)]
    report_lines += [f"  skipped, {times}: {reason}" for reason, times in sorted(run.skips.items())]
    report_lines += [f"  FAILED {name}" for name in run.failures]
    return report_lines + [f"  WRONG {line}" for line in run.wrong.splitlines()]
