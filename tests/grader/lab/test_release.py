"""Releases are made from their sources, the same bytes each time; they hold no solution, and nbgrader reads them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.lab import release
from grader.lab.release import (
    check_files,
    difference,
    lab_folders,
    marked_by,
    release_notebook,
    solution_notebook,
    text_of,
    write_release,
)
from grader.lab.source import LabError, check_id, load_lab

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = lab_folders(ROOT / "labs")
every_lab = pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)


@pytest.fixture(scope="module")
def labs():
    return {folder: load_lab(folder) for folder in FOLDERS}


@every_lab
def test_the_release_that_is_committed_is_the_one_its_source_makes(folder, labs):
    assert difference(labs[folder]) is None
    assert text_of(release_notebook(labs[folder])) == text_of(release_notebook(load_lab(folder)))


@pytest.mark.long  # with nbgrader
@every_lab
def test_nbgrader_finds_every_exercise_its_points_and_its_marks_cell(folder, labs):
    nbgrader = pytest.importorskip("nbgrader.nbgraderformat", reason="nbgrader is not installed: the grading extra")
    lab = labs[folder]
    notebook = nbgrader.reads(text_of(release_notebook(lab)), as_version=4)
    told = {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    }
    for exercise in lab.exercises:
        assert told[exercise.name].solution
        graded = told[exercise.name if exercise.manual else check_id(exercise.name)]
        assert graded.grade and graded.points == exercise.points
    assert sum(cell.points for cell in told.values() if cell.grade) == lab.points


def test_evidence_is_told_from_the_marking_in_words(labs):
    called = {exercise.name: marked_by(exercise) for lab in labs.values() for exercise in lab.exercises}
    assert called["next_generation"] == "an array of uint8, shape (any, any)"  # a size for each board
    assert called["fast_step"].endswith("its speed, as a ratio, timed outside: 3 times the reference's")
    assert "what a second process saw" in called["train_through"]
    assert called["step_log"].endswith("from a run that the grader steers")


@every_lab
def test_a_lab_states_minutes_points_and_an_oracle_for_each_exercise(folder, labs):
    lab = labs[folder]
    cells = release_notebook(lab).cells
    assert "| Minutes |" in cells[0].source and f"**{lab.points:g}**" in cells[0].source
    assert "| You will |" in cells[0].source and "<!--" not in cells[0].source
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for number, exercise in enumerate(lab.exercises, start=1):
        assert f"| {number} | `{exercise.name}` | {exercise.points:g} | {marked_by(exercise)} |" in text
        assert exercise.manual or f"Checked against: {exercise.statement.oracle}." in text


@every_lab
def test_a_release_has_no_outputs_and_its_pictures_are_no_part_of_the_marks(folder, labs):
    notebook = json.loads(text_of(release_notebook(labs[folder])))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert notebook["metadata"]["course"] == {"lab": labs[folder].name}


@every_lab
def test_the_solution_differs_from_the_release_in_the_exercises_only(folder, labs):
    lab = labs[folder]
    pairs = zip(release_notebook(lab).cells, solution_notebook(lab).cells, lab.source.cells, strict=True)
    changed = [cell.exercise for one, other, cell in pairs if one.source != other.source]
    assert changed == [exercise.name for exercise in lab.exercises if lab.source.cell(exercise.name).type == "code"]


@every_lab
def test_no_file_that_a_student_receives_holds_a_solution_or_what_is_the_teachers(folder, labs, tmp_path):
    lab = labs[folder]
    write_release(lab, tmp_path)
    received = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert {f"{lab.name}.ipynb", "checks.py", *lab.files} <= set(received)
    assert not {"lab.py", "wrong.py", "marking.py"} & set(received)
    for name, text in received.items():
        assert not re.search(r"^\s*(from|import)\b.*\b(wrong|marking|grader)\b", text, re.M), name
        assert "SOLUTION" not in text and "WRONG = " not in text, name
    everything = "\n".join(" ".join(text.split()) for text in received.values())
    for cell in lab.source.exercises():
        if not lab.exercise(cell.exercise).manual:
            given = set(map(str.strip, cell.text.splitlines()))
            own = [line.strip() for line in cell.solution.splitlines() if line.strip() not in given]
            assert " ".join(own) not in everything, f"the solution of {cell.exercise}"
            for label, wrong in lab.exercise(cell.exercise).wrong.items():
                source = wrong if isinstance(wrong, str) else getattr(wrong, "source", "")
                assert not source or " ".join(source.split()) not in everything, f"{cell.exercise}: {label}"


def test_checks_that_import_what_is_the_teachers_are_refused(tmp_path):
    (tmp_path / "checks.py").write_text("def later():\n    from .oracles import slow\n", encoding="utf-8")
    (tmp_path / "oracles.py").write_text("import math\n", encoding="utf-8")
    (tmp_path / "unused.py").write_text("", encoding="utf-8")
    assert check_files(tmp_path) == ["checks.py", "oracles.py"]
    (tmp_path / "oracles.py").write_text("from . import wrong\n", encoding="utf-8")
    (tmp_path / "wrong.py").write_text("", encoding="utf-8")
    with pytest.raises(LabError, match=r"its checks import wrong\.py, which is not for students"):
        check_files(tmp_path)


@pytest.mark.long
def test_a_release_checks_answers_wherever_it_lies_and_wherever_its_kernel_runs(labs, tmp_path):
    lab = next(lab for lab in labs.values() if lab.name == "lab03_game_of_life")
    place, other = tmp_path / "a student's own" / "lab 3", tmp_path / "other"
    other.mkdir()
    notebook = write_release(lab, place)
    asks = "import sys\nfrom course import check\nname = 'next_generation'\n{}\nverdict = check(next_generation)\n"
    asks += "print(verdict.state)\nprint(verdict, file=sys.stderr)"
    answers = {"passed": lab.source.cell("next_generation").solution, "wrong": "def next_generation(b): return b"}
    started = {**os.environ, "JPY_SESSION_NAME": str(notebook)}
    for cwd, environment in ((place, None), (other, started)):
        for state, answer in answers.items():
            program = "import numpy as np\n" + asks.format(answer)
            told = subprocess.run(
                [sys.executable, "-c", program],
                **{"cwd": cwd, "env": environment, "capture_output": True, "text": True, "timeout": 60},
            )
            assert told.stdout == f"{state}\n", told.stderr
    program = "import course.checks.discovery as there\nthere.CHECKOUT = there.Path('nowhere')\n"
    lost = subprocess.run(
        [sys.executable, "-c", program + asks.format(answers["wrong"])],
        **{"cwd": other, "capture_output": True, "text": True, "timeout": 60},
    )
    assert "the checks.py that comes with the notebook: it must lie beside it" in lost.stderr


def test_the_command_writes_releases_and_solutions_and_sees_a_stale_one(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "labs" / FOLDERS[0].name
    folder.mkdir(parents=True)
    for file in FOLDERS[0].iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert release.main([]) == 0
    made = folder / f"{folder.name}.ipynb"
    assert made.read_bytes() == (FOLDERS[0] / made.name).read_bytes()
    assert (tmp_path / "build" / "labs" / made.name).exists()
    assert release.main(["--check"]) == 0
    made.write_text(made.read_text(encoding="utf-8").replace("Minutes", "Hours"), encoding="utf-8")
    assert release.main(["--check"]) == 1
    assert "was not made from lab.py and marking.py as they stand: run `make labs`" in capsys.readouterr().err
    assert release.main(["nowhere"]) == 1
    assert "is not a lab: it has no lab.py" in capsys.readouterr().err
