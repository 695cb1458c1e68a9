"""Every lab is fit for a class, and runs from top to bottom: as released, and with its solutions.

As released no check has passed, with its solutions all do, and a real sandbox gives these full marks. `make long` also
marks every wrong answer, in forks of one process that has imported what the lab imports.
"""

import json
import struct
from pathlib import Path

import pytest

from grader.lab.release import lab_folders, solution_notebook, text_of, write_release
from grader.lab.source import load_lab
from grader.marking.mark import mark_submission
from grader.sandbox import Profile, Sandbox, SandboxUnavailable
from grader.selftest.selftest import selftest
from tests.grader.forked_sandbox import ForkServer

ROOT = Path(__file__).resolve().parents[2]
LABS = lab_folders(ROOT / "labs")
#: What the notebooks' own checks and pictures import, beside torch.
LIBRARIES = ("numpy", "scipy", "torch", "hypothesis", "matplotlib.pyplot", "IPython.display")
PROGRAM = """
import builtins, json, os, struct, sys, warnings

warnings.simplefilter("error")
root, folder, notebooks = {arguments!r}
sys.path.insert(0, root)
os.chdir(folder)
builtins.display = lambda *things, **settings: None
every = []
for cells in notebooks:
    states, names = {{}}, {{"__name__": "__main__"}}
    for role, exercise, text in cells:
        if role != "check":
            exec(compile(text, exercise or "<cell>", "exec"), names)
            continue
        *before, last = text.strip().splitlines()
        exec("\\n".join(before), names)
        states[exercise] = eval(last, names).state
    every.append(states)
text = json.dumps(every).encode()
os.write(EVIDENCE, struct.pack("<I", len(text)) + text)
"""


@pytest.fixture(scope="module")
def fork_for():
    """A function: what makes a sandbox for a lab, or for a notebook, without the safety of one."""
    # processes that a light fork starts are light as well
    with ForkServer(("numpy", "scipy.optimize")) as light, ForkServer(LIBRARIES) as heavy:
        yield lambda lab=None: heavy.sandbox if lab is None or "torch" in lab.imports else light.sandbox


def run(lab, notebooks, folder, sandbox):
    """Return, for each list of cells, exercise -> the state of its check's verdict; each begins with no names."""
    write_release(lab, folder)
    with sandbox(Profile(seconds=200)).start(PROGRAM.format(arguments=(str(ROOT), str(folder), notebooks))) as running:
        (length,) = struct.unpack("<I", running.receive(4))
        return json.loads(running.receive(length))


def assert_full_marks_in_a_real_sandbox(lab):
    try:
        marks = mark_submission(lab, text_of(solution_notebook(lab)).encode(), b"a class's secret", Sandbox)
    except SandboxUnavailable:
        return  # tests/grader/sandbox says so aloud
    assert [e.name for e in marks.exercises if e.score < e.max_score and not e.manual] == [], marks


@pytest.mark.notebooks
@pytest.mark.timeout(900)  # on a machine with much else to do
@pytest.mark.parametrize("folder", LABS, ids=lambda path: path.name)
def test_a_lab_runs_as_released_and_with_its_solutions_which_get_full_marks(folder, tmp_path, fork_for):
    lab = load_lab(folder)
    code = [cell for cell in lab.source.cells if cell.type == "code"]
    as_released = [(cell.role, cell.exercise, cell.text) for cell in code]
    with_solutions = [(cell.role, cell.exercise, cell.solution) for cell in code]
    released, solved = run(lab, [as_released, with_solutions], tmp_path, fork_for())
    asked = [exercise.name for exercise in lab.exercises if not exercise.manual]
    assert list(released) == list(solved) == asked
    # what is to write may be built on by a later exercise, whose answer is then there and wrong
    assert set(released.values()) <= {"not yet", "wrong"}, released
    assert set(solved.values()) <= {"passed"}, solved
    assert_full_marks_in_a_real_sandbox(lab)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("folder", LABS, ids=lambda path: path.name)
def test_each_wrong_answer_alone_costs_its_own_exercise_and_the_solution_is_right_twenty_times(folder, fork_for):
    lab = load_lab(folder)
    report = selftest(lab, sandbox=fork_for(lab), tell=print, secrets=1)  # of 200: `python -m grader selftest`
    assert report, report
