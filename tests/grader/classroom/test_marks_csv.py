"""Rows of marks: what counts where there is no partial credit, and what may stand in the file already."""

import csv

import pytest

from grader.classroom.class_file import LabRules
from grader.classroom.folders import ClassError
from grader.classroom.marks_csv import Row, rows_of, write_marks
from grader.marking.mark import Marks
from grader.marking.why_this_mark import ExerciseMark

MARKS = Marks(
    "small",
    (
        ExerciseMark("whole", "graded", 3.0, 3),
        ExerciseMark("rounded", "graded", 3 - 1e-12, 3, "two\nlines"),
        ExerciseMark("part", "graded", 2.9, 3, "why"),
    ),
)


def test_without_partial_credit_what_is_not_whole_but_for_rounding_counts_nothing():
    rows = rows_of("ada", MARKS, LabRules())
    assert [row.score for row in rows] == [3.0, 3 - 1e-12, 2.9]
    assert rows[1] == Row("ada", "small", "rounded", "graded", 3 - 1e-12, 3, "two lines")
    assert [row.score for row in rows_of("ada", MARKS, LabRules(partial_credit=False))] == [3.0, 3 - 1e-12, 0.0]


def test_a_mark_made_without_a_sandbox_says_so_in_its_reason():
    assert rows_of("ada", MARKS, LabRules(), safe=False)[2].reason == "marked WITHOUT a sandbox: why"


@pytest.mark.parametrize(("state", "score"), [("grader_failed", ""), ("unplaced", ""), ("missing", "0")])
def test_a_row_that_waits_for_a_mark_has_no_score_and_not_a_zero(tmp_path, state, score):
    row = Row("ada", "small", "double", state, 0.0, 3, "no room")
    assert row.key == ("ada", "small", "double") and row.is_pending == (score == "")
    write_marks(tmp_path / "marks.csv", [row])
    with (tmp_path / "marks.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["score"] == score


@pytest.mark.parametrize("sign", [".~lock.marks.csv#", "~$marks.csv"])
def test_a_file_open_in_either_spreadsheet_program_is_left(tmp_path, sign):
    (tmp_path / sign).touch()
    with pytest.raises(ClassError, match="open in a spreadsheet program.*is beside it"):
        write_marks(tmp_path / "marks.csv", [])
    assert not (tmp_path / "marks.csv").exists()


def test_lines_of_another_length_are_dropped_and_an_empty_file_is_as_good_as_none(tmp_path):
    path, row = tmp_path / "marks.csv", Row("ada", "small", "double", "graded", 0.5, 3)
    path.write_text("")
    write_marks(path, [row])
    path.write_text(path.read_text() + "torn,line\n" + "bob,small,double,graded,1,3,\n")
    write_marks(path, [row])
    with path.open(newline="") as file:
        lines = [",".join(line) for line in csv.reader(file)]
    assert lines[1:] == ["ada,small,double,graded,0.5,3,", "bob,small,double,graded,1,3,"]
