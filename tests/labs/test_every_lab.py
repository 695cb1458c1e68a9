"""Every lab is fit for a class, and runs from top to bottom: as released, and with its solutions.

As released no check has passed, with its solutions all do; marks tell right answers from wrong ones.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader.lab.release import lab_folders, write_release
from grader.lab.source import load_lab
from grader.selftest.selftest import selftest_here

ROOT = Path(__file__).resolve().parents[2]
LABS = lab_folders(ROOT / "labs")
PROGRAM = """
import builtins, json, sys

builtins.display = lambda *things, **settings: None
every = []
for cells in json.load(sys.stdin):
    said, names = {}, {"__name__": "__main__"}
    for role, exercise, text in cells:
        if role != "check":
            exec(compile(text, exercise or "<cell>", "exec"), names)
            continue
        *before, last = text.strip().splitlines()
        exec("\\n".join(before), names)
        said[exercise] = eval(last, names).state
    every.append(said)
print("\\n" + json.dumps(every))
"""


def run(lab, notebooks, tmp_path):
    """Return, for each list of cells, exercise -> the state of its check's verdict; all run in one process of its own.

    (Each begins with no names; to start Python and PyTorch for each would take longer than the cells do.)
    """
    write_release(lab, tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        **{"input": json.dumps(notebooks), "capture_output": True, "text": True, "timeout": 200, "cwd": tmp_path},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.timeout(900)  # on a machine with much else to do
@pytest.mark.parametrize("folder", LABS, ids=lambda path: path.name)
def test_a_lab_is_fit_for_a_class(folder):
    # its own checks are tried by the test below
    report = selftest_here(load_lab(folder), short=True, tell=print, checks=False)
    assert report, report


@pytest.mark.notebooks
@pytest.mark.parametrize("folder", LABS, ids=lambda path: path.name)
def test_a_lab_runs_from_top_to_bottom_as_released_and_with_its_solutions(folder, tmp_path):
    lab = load_lab(folder)
    code = [cell for cell in lab.source.cells if cell.type == "code"]
    as_released = [(cell.role, cell.exercise, cell.text) for cell in code]
    with_solutions = [(cell.role, cell.exercise, cell.solution) for cell in code]
    released, solved = run(lab, [as_released, with_solutions], tmp_path)
    asked = [exercise.name for exercise in lab.exercises if not exercise.manual]
    assert list(released) == list(solved) == asked
    # what is to write may be built on by a later exercise, whose answer is then there and wrong
    assert set(released.values()) <= {"not yet", "wrong"}, released
    assert set(solved.values()) <= {"passed"}, solved
