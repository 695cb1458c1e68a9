"""A run of the suite that is told to end leaves no process and no file, and says so by its exit code."""

import os
import re
import signal
import subprocess
import sys

import psutil
import pytest

from tests.helpers.shells import eventually
from tests.slow.faults.processes.members import REPOSITORY

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows can't ask a process to end"),
]


def test_a_run_that_is_told_to_end_takes_all_with_it(tmp_path):
    """Seed 2 keeps a local cluster; the signal comes while that starts or trains."""
    run = subprocess.Popen(
        [sys.executable, "-m", "tests.slow.faults", "--lanes", "1", "--seed", "2", "--seed", "3"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with run:
        family = eventually(lambda: (below := psutil.Process(run.pid).children(recursive=True))[4:] and below, 300)
        run.send_signal(signal.SIGTERM)
        words, _ = run.communicate(timeout=90)
    assert run.returncode == 128 + signal.SIGTERM and not re.search("^seed.* hang ", words, re.M)
    assert psutil.wait_procs(family, timeout=60)[1] == []
    assert list(tmp_path.iterdir()) == []
