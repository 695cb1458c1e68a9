"""The files around a class: its own, the roster, marks.csv, those for Canvas and Moodle; each wrong one is told."""

import csv
import itertools
import os
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.classroom.class_file import ClassFile, LabRules
from grader.classroom.csv_cells import plain_cell, plain_csv
from grader.classroom.folders import ClassError
from grader.classroom.marks_csv import HEADINGS, Row, write_marks
from grader.intake.moodle import filled_worksheet, read_worksheet
from grader.intake.roster import Person, read_roster, same_name
from grader.reports.export import canvas_file, moodle_file
from grader.reports.gradebook import Manual
from grader.reports.lab_totals import Total, standing_totals, totals_of
from grader.reports.progress import Progress
from grader.runs.assignment import Assignment
from tests.helpers.class_here import graded, hand_in


def rows(*students, lab="small", score=1.0, reason="because"):
    return [Row(student, lab, "double", "graded", score, 3, reason) for student in students]


def read(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("student,name\nada,Ada Lovelace\n", [Person("ada", name="Ada Lovelace")]),
        ("\ufeffstudent;email\r\nada;a@x\r\n\r\n", [Person("ada", email="a@x")]),
        (
            "Student,ID,SIS User ID,SIS Login ID,Section,Lab 3 (7)\n    Points Possible,,,,,10\n"
            '"Lovelace, Ada",12,s,ada,A,\n'
            "Test Student,,,,,\n",
            [Person("ada", "Lovelace, Ada", canvas_id="12", sis_id="s", login="ada", section="A")],
        ),
        (
            "First name,Last name,ID number,Email address\nAda,Lovelace,s1,ada@x\n",
            [Person("ada@x", first="Ada", last="Lovelace", sis_id="s1", email="ada@x")],
        ),
    ],
)
def test_rosters_of_several_makes_are_read(course, text, people):
    (course.root / "roster.csv").write_text(text, encoding="utf-8")
    assert read_roster(course) == people


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("../ada,,", "line 3: '../ada' can't be a student's name"),
        ("ADA,,", "line 3: 'ADA' stands in line 2 already (student)"),
        ("eve,1,", "line 3: '1' stands in line 2 already (canvas_id)"),
        (",9,Zoe", "line 3: it names no student"),
        ('eve,2,"Eve\nzoe,3,Zoe"', "line 4: a quotation mark that is not closed"),
    ],
)
def test_an_odd_row_of_the_roster_is_skipped_and_told(course, row, says):
    (course.root / "roster.csv").write_text(f"student,canvas_id,name\nada,1,Ada\n{row}\nbob,7,Bob\n")
    told = []
    assert [person.student for person in read_roster(course, tell=told.append)] == ["ada", "bob"]
    assert len(told) == 1 and says in told[0] and told[0].endswith("The row is skipped.")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"student\n../ada\n", "has no row that can be a student's"),
        (b"grade\n3\n", "no column says which folder"),
        (b"student\n\xff\xfe\xfa\n", "not text in UTF-8"),
    ],
)
def test_a_wrong_roster_is_told(course, data, says):
    (course.root / "roster.csv").write_bytes(data)
    with pytest.raises(ClassError, match=says):
        read_roster(course)


def test_names_are_compared_without_case_accents_and_order():
    assert same_name("Lovelace, Ada") == same_name("ADA LOVELACE") == same_name("Áda  Lovelàce")
    assert same_name("Ada Lovelace") != same_name("Ada Byron")


def test_marks_replace_those_of_the_same_student_and_lab_and_no_others(tmp_path):
    path = tmp_path / "marks.csv"
    write_marks(path, rows("ada", "bob", score=1))
    write_marks(path, rows("ada", lab="other", score=2))
    write_marks(path, rows("bob", score=3))
    assert read(path) == [
        list(HEADINGS),
        ["ada", "other", "double", "graded", "2", "3", "because"],
        ["ada", "small", "double", "graded", "1", "3", "because"],
        ["bob", "small", "double", "graded", "3", "3", "because"],
    ]
    before = path.read_bytes()
    write_marks(path, rows("bob", score=3))
    assert path.read_bytes() == before
    write_marks(path, rows("bob", score=3), labs_wholly=["small"])
    assert [line[0] for line in read(path)] == ["student", "ada", "bob"]


def of_lab(lab, exercises, *students):
    return [Row(student, lab, exercise, "graded", 1, 1) for student in students for exercise in exercises]


def test_marks_stand_by_lab_then_student_then_as_the_lab_has_its_exercises(tmp_path):
    path, first, second = tmp_path / "marks.csv", ("zoom", "count", "area"), ("area", "words", "zoom", "beta")
    write_marks(path, of_lab("lab2", second, "cyd", "bob"))
    write_marks(path, of_lab("lab1", first, "dan", "bob"))
    write_marks(path, of_lab("lab2", second, "ada"))
    headings, *lines = path.read_text().splitlines()
    backwards = [line for line in reversed(lines) if "lab1" in line]  # as a spreadsheet may have left them
    path.write_text("\n".join([headings, *backwards, *(line for line in lines if "lab2" in line)]))
    write_marks(path, of_lab("lab1", first, "ada", "bob"))
    assert [tuple(line[:3]) for line in read(path)[1:]] == [
        *(("ada", "lab1", exercise) for exercise in first),
        *(("bob", "lab1", exercise) for exercise in first),
        *(("dan", "lab1", exercise) for exercise in first),
        *(("ada", "lab2", exercise) for exercise in second),
        *(("bob", "lab2", exercise) for exercise in second),
        *(("cyd", "lab2", exercise) for exercise in second),
    ]


def test_a_marks_file_that_cannot_be_written_is_left_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "marks.csv"
    write_marks(path, rows("ada"))
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ClassError, match="No space left"):
        write_marks(path, rows("bob"))
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["marks.csv"]


@pytest.mark.parametrize("data", [b"a,b\n1,2\n", b"\x00", b"student,lab\n", b"\xff\xfe"])
def test_a_file_that_holds_no_marks_is_not_overwritten(tmp_path, data):
    path = tmp_path / "marks.csv"
    path.write_bytes(data)
    with pytest.raises(ClassError, match="no marks file|can't be read.*marks nothing twice"):
        write_marks(path, rows("ada"))
    assert path.read_bytes() == data
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ClassError, match="is a folder"):
        write_marks(tmp_path / "folder.csv", rows("ada"))


@given(st.text() | st.text("=+-@;\t\r\n \"',a"))
@example("wrong;=1+1")
@example('wrong;"=1+1')
@example("wrong\t =1+1")
@example("\uff1d1+1")
@example("a\n=1+1")
def test_no_cell_is_a_formula_wherever_a_program_cuts_it_and_nothing_is_lost(text):
    cell = plain_cell(text)
    for piece in re.split("[;\t\r\n]", cell) if cell != "-" else []:
        assert piece.lstrip(' "\u3000')[:1] not in tuple("=+-@\uff1d\uff0b\uff0d\uff20")
    assert cell.replace("'", "") == text.replace("'", "")
    assert plain_cell(cell) == cell


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_formula_comes_out_of_a_file_whatever_the_spreadsheet_takes_for_its_separator(tmp_path, separator):
    reason = 'gave "a";=cmd|"/C calc"!A1;\t=HYPERLINK("x"),=1+1\n=2'
    write_marks(tmp_path / "marks.csv", rows("ada", reason=reason))
    (tmp_path / "more.csv").write_text(plain_csv([["name", "why"], ["ada", reason]]), encoding="utf-8")
    for path in tmp_path.glob("*.csv"):
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE) if separator != "," else (csv.QUOTE_MINIMAL,):
            with path.open(encoding="utf-8", newline="") as file:
                cells = [cell for line in csv.reader(file, delimiter=separator, quoting=quoting) for cell in line]
            assert not [cell for cell in cells if cell.strip(' "')[:1] in tuple("=+-@") and cell.strip(' "')], cells


def test_every_cell_is_quoted(tmp_path):
    write_marks(tmp_path / "marks.csv", rows("ada"))
    lines = (tmp_path / "marks.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith('"ada","') and lines[1].endswith('"')
    assert plain_csv([["a", 1, ""]]) == '"a","1",""\r\n'


def test_a_student_who_is_a_formula_is_escaped_and_found_again(tmp_path):
    path = tmp_path / "marks.csv"
    for _ in range(2):
        write_marks(path, rows('=HYPERLINK("x")', "@ada", reason="=1+1"))
    assert [line[0] for line in read(path)] == ["student", '\'=HYPERLINK("x")', "'@ada"]
    assert read(path)[1][-1] == "'=1+1"


def test_the_file_for_canvas_has_its_columns_and_empty_cells_for_what_is_not_marked():
    people = [Person("ada", "Lovelace, Ada", canvas_id="12", login="ada"), Person("eve", "=cmd()", sis_id="-1")]
    totals = [Total("ada", 4.25, 10), Total("eve", None, 10, "waits"), Total("zoe", 0.0, 10)]
    text, unsure = canvas_file(totals, people, "Lab 3 (7)", 10)
    assert list(csv.reader(text.splitlines())) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 3 (7)"],
        ["    Points Possible", "", "", "", "", "10"],
        ["Lovelace, Ada", "12", "", "ada", "", "4.25"],
        ["'=cmd()", "", "'-1", "", "", ""],
        ["zoe", "", "", "", "", "0"],
    ]
    assert unsure == ["zoe"]
    assert moodle_file(totals, people, "small").splitlines()[1] == '"ada","ada","","","4.25"'


def test_moodle_s_worksheet_comes_back_with_its_grades(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text(
        "Identifier,Full name,Grade,Maximum Grade,Last modified (grade)\n"
        "Participant 7,=evil(),,10.00,-\nParticipant 8,Bob,5,10.00,-\n"
    )
    filled = filled_worksheet(read_worksheet(path), {"7": 2.5}, 10)
    assert list(csv.reader(filled.splitlines()))[1:] == [
        ["Participant 7", "'=evil()", "2.50", "10.00", "-"],
        ["Participant 8", "Bob", "", "10.00", "-"],
    ]
    with pytest.raises(ClassError, match="in Moodle the assignment has 10 points, here the lab has 6"):
        filled_worksheet(read_worksheet(path), {"7": 2.5}, 6)


def test_a_total_counts_a_person_s_marks_and_lateness_and_waits_for_both(course, small):
    hand_in(course, "ada")
    hand_in(course, "bob", "RAISE")
    grading = graded(course, small)
    rules = ClassFile(rules={"small": LabRules(points=20)})

    def total(student, manual, cost=0.0):
        one = next(one for one in grading.graded if one.student == student)
        one = type(one)(one.student, one.rows, one.sha, one.arrived, cost)
        return totals_of(small, rules, [one], ["eve"], {student: manual})

    ada, eve = total("ada", {})
    assert ada.score is None and "words: waits for a person's mark" in ada.note
    assert eve.score is None
    assert total("ada", {"words": Manual(2.0)})[0].score == (6 + 2) * 2
    assert total("ada", {"words": Manual(2.0), "double": Manual(0.0)}, cost=0.5)[0].score == (3 + 2) * 2 * 0.5
    assert total("bob", {"words": Manual(4.0)})[0].score is None


def test_who_has_handed_in_nothing_gets_a_zero_or_nothing_until_it_is_due(course, small):
    hand_in(course, "ada")
    due = datetime(2026, 12, 1, tzinfo=UTC)
    rules = ClassFile(rules={"small": LabRules(due=due)}, extensions={("eve", "small"): timedelta(days=2)})
    people = [Person("ada"), Person("bob"), Person("eve")]
    graded(course, small, rules, roster=people)

    def scores(missing, days, rules=rules):
        found = standing_totals(Assignment(course, small, rules, people), missing, due + timedelta(days=days))
        return {total.student: total.score for total in found if total.student != "ada"}

    assert scores("zero", -1) == {"bob": 0, "eve": 0}
    assert scores("empty", 9) == {"bob": None, "eve": None}
    assert scores("when-due", -1) == {"bob": None, "eve": None}
    assert scores("when-due", 1) == {"bob": 0, "eve": None}
    assert scores("when-due", 3) == {"bob": 0, "eve": 0}
    with pytest.raises(ClassError, match="small has no due date. Add"):
        scores("when-due", 1, ClassFile())


def test_the_bar_tells_how_much_is_left(monkeypatch):
    class Terminal(list):
        write = list.append

        def isatty(self):
            return self.on_a_terminal

        def flush(self):
            pass

    clock = itertools.count(0, 5)
    monkeypatch.setattr("click._termui_impl.time", SimpleNamespace(time=lambda: next(clock)))
    lines = Terminal()
    lines.on_a_terminal = False
    progress = Progress("small", lines)
    for done in range(21):
        progress(done, 20)
    progress.end()
    assert len(lines) == 11 and lines[0] == "small: 0 of 20\n" and lines[-1] == "small: 20 of 20\n"
    assert re.fullmatch(r"small: 2 of 20, \d\d:\d\d:\d\d left\n", lines[1])
    lines = Terminal()
    lines.on_a_terminal = True
    progress = Progress("small", lines)
    progress(0, 20)
    progress(10, 20)
    progress.end()
    shown = "".join(lines)
    assert "small  [##################------------------]  10/20" in shown and shown.endswith("\n")
