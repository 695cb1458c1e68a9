"""The totals of a class: one file over all labs that were graded, and nothing added up that is not whole."""

import csv

import pytest
from click.testing import CliRunner

from grader.classroom.folders import ClassError
from grader.cli import main
from grader.reports.totals import write_totals
from tests.helpers.class_here import graded, hand_in
from tests.helpers.small_lab import write_small_lab


@pytest.fixture
def labs(course):
    """Two labs of the class: `small`, and `other` without the exercise that a person marks."""
    (course.root / "source").mkdir()
    small = write_small_lab(course.root / "source")
    other = course.root / "source" / "other"
    small.folder.rename(other)
    text = (other / "lab.py").read_text()
    (other / "lab.py").write_text(text[: text.index('# %% tags=["exercise:words')])
    text = (other / "marking.py").read_text().replace('"small",\n    exercises', '"other",\n    exercises')
    (other / "marking.py").write_text(text.replace('        Marking(Exercise("words"), manual=True),\n', ""))
    write_small_lab(course.root / "source")
    from grader.lab.source import load_lab

    return [load_lab(course.root / "source" / name) for name in ("small", "other")]


def read(path):
    with path.open(newline="", encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_one_file_has_every_lab_and_adds_up_what_is_whole(course, labs, tmp_path):
    (course.root / "roster.csv").write_text("student,name,section\nada,Ada Lovelace,A\nbob,Bob,B\n")
    for lab in labs:
        hand_in(course, "ada", lab=lab.name)
        graded(course, lab)
    with pytest.raises(ClassError, match="no lab of this class was graded"):
        write_totals(type(course)(tmp_path / "empty"), tmp_path / "t.csv")
    said = CliRunner().invoke(main, ["totals", str(course.root), str(tmp_path / "t.csv")])
    assert said.exit_code == 0, said.output
    found = read(tmp_path / "t.csv")
    assert list(found["ada"]) == ["student", "name", "section", "other", "small", "total", "of", "waiting"]
    assert list(found["ada"].values()) == ["ada", "Ada Lovelace", "A", "6", "", "6", "6", "1"]
    assert list(found["bob"].values()) == ["bob", "Bob", "B", "0", "0", "0", "16", "0"]
    said = CliRunner().invoke(main, ["totals", str(course.root), str(tmp_path / "t.csv"), "--missing", "empty"])
    assert list(read(tmp_path / "t.csv")["bob"].values())[3:] == ["", "", "", "0", "2"]
    assert "ada, small: no score yet (words: waits for a person's mark)." in said.output
