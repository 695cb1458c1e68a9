"""The page about serving: its cell goes from a training to answers, as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "modelserver" / "docs" / "serving.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_one_cell_trains_exports_serves_and_asks_by_both_signatures(tmp_path):
    (cell,) = re.findall(r"```python\n(import torch.*?)```", PAGE, re.S)
    program = tmp_path / "cell.py"
    program.write_text(f"if __name__ == '__main__':\n{re.sub('^', '    ', cell, flags=re.M)}", encoding="utf-8")
    there = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(ROOT)}}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=240, **there)
    assert done.returncode == 0, done.stderr
    by_image, by_features, labels = re.findall(r"\[[\d ]+\]", done.stdout)
    assert by_image == by_features
    assert sum(one == other for one, other in zip(by_image, labels, strict=True)) >= len("[0 2 5 7]") - 1
