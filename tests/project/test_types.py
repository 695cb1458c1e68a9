"""The types of the three packages hold: mypy, by the settings in pyproject.toml, finds nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long  # mypy keeps no cache, and reads for a minute

ROOT = Path(__file__).resolve().parents[2]


def test_mypy_finds_nothing():
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
