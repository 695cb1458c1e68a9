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

from grader.classroom import atomic
from grader.classroom import class_file as course_file
from grader.classroom.class_file import LabRules, Late, read_course_file
from grader.classroom.csv_cells import plain_cell, plain_csv
from grader.classroom.folders import ClassError, find_lab, open_course
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


def test_a_class_file_is_read(course):
    example = [line[4:] for line in course_file.__doc__.splitlines() if line.startswith("    ")]
    (course.root / "class.toml").write_text("\n".join(example))
    found = read_course_file(course)
    due = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
    rules = found.lab("lab03_game_of_life")
    assert (rules.due, rules.points, rules.attempts, rules.max_attempts) == (due, 10, "best", 5)
    assert found.lab("another") == LabRules(max_attempts=3)
    assert found.due("ada", "lab03_game_of_life") == due + timedelta(days=3)
    assert found.late == Late(0.1, "day", 0.5, timedelta(minutes=10))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("attempts = 'all'", "attempts = 'all'; it must be last, first or best"),
        ("atempts = 'last'", "there is no entry atempts; known are title"),
        ("[lab.small]\ndue = '2026-12-01'", "lab.small.due = '2026-12-01'; it must be a date and time"),
        ("[lab.small]\ndue = 2026-12-01", "it must be a date and time"),
        ("[lab.small]\npoints = 0", "lab.small.points = 0; it must be a number above 0"),
        ("[lab]\nsmall = 3", "lab.small = 3; it must be a table"),
        ("max_attempts = true", "max_attempts = True; it must be a whole number"),
        ("[late]\nshare = 10", "late.share = 10; it must be a number from 0 to 1"),
        ("[late]\nper = 'week'", "late.per = 'week'"),
        ("timezone = 'Mars/Olympus'", "timezone = 'Mars/Olympus'; it must be a name such as"),
        ("[extensions.ada]\nsmall = 'soon'", "extensions.ada.small = 'soon'"),
        ("extensions = 3", "extensions = 3; it must be a table"),
        ("partial_credit = 'no'", "it must be true or false"),
        ("title = ", "can't be read: .*Correct that line"),
    ],
)
def test_a_wrong_entry_of_the_class_file_is_named(course, text, says):
    (course.root / "class.toml").write_text(text)
    with pytest.raises(ClassError, match=says):
        read_course_file(course)


def test_lateness_is_paid_for_each_day_begun_and_no_more_than_the_most():
    late = Late(share=0.1, most=0.25, grace=timedelta(minutes=10))
    day = timedelta(days=1)
    found = [late.cost(span) for span in (timedelta(0), timedelta(minutes=10), timedelta(minutes=11), day, 2 * day)]
    assert found == [0, 0, 0.1, 0.1, 0.2]
    assert late.cost(30 * day) == 0.25
    assert Late(share=0.01, per="hour").cost(timedelta(minutes=61)) == 0.02


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


def test_what_is_no_class_is_told(tmp_path):
    with pytest.raises(ClassError, match="neither submitted/ nor class.toml"):
        open_course(tmp_path)
    with pytest.raises(ClassError, match="is not a folder"):
        open_course(tmp_path / "absent")


@pytest.mark.parametrize("name", ["lab99_none", "../labs/lab03_game_of_life", "", ".", "a/b"])
def test_a_lab_that_is_not_there_is_told_and_no_path_is_followed(course, name):
    with pytest.raises(ClassError, match="there is no lab|a lab is the name of its folder"):
        find_lab(course, name)


def test_labs_are_found_in_the_class_in_a_private_folder_and_in_the_checkout(course, tmp_path):
    assert find_lab(course, "lab03_game_of_life").is_dir()
    for place in (tmp_path / "private", course.root / "source"):
        (place / "mine").mkdir(parents=True)
        (place / "mine" / "lab.py").touch()
        assert find_lab(course, "mine", tmp_path / "private") == place / "mine"


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


def test_where_our_side_failed_there_is_no_score_and_not_a_zero(tmp_path):
    failed = Row("ada", "small", "double", "grader_failed", 0.0, 3, "no room")
    write_marks(tmp_path / "marks.csv", [failed, Row("bob", "small", "double", "missing", 0.0, 3, "not handed in")])
    assert [line[3:5] for line in read(tmp_path / "marks.csv")[1:]] == [["grader_failed", ""], ["missing", "0"]]


def test_a_marks_file_in_use_is_left_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "marks.csv"
    write_marks(path, rows("ada"))
    before = path.read_bytes()
    (tmp_path / ".~lock.marks.csv#").touch()
    with pytest.raises(ClassError, match="open in a spreadsheet program.*marks nothing twice"):
        write_marks(path, rows("bob"))
    (tmp_path / ".~lock.marks.csv#").unlink()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ClassError, match="No space left"):
        write_marks(path, rows("bob"))
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["marks.csv"]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "\x00", "student,lab\n"])
def test_a_file_that_holds_no_marks_is_not_overwritten(tmp_path, text):
    path = tmp_path / "marks.csv"
    path.write_text(text)
    with pytest.raises(ClassError, match="no marks file|can't be read"):
        write_marks(path, rows("ada"))
    assert path.read_text() == text
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
    rules = course_file.ClassFile(rules={"small": LabRules(points=20)})

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
    rules = course_file.ClassFile(rules={"small": LabRules(due=due)}, extensions={("eve", "small"): timedelta(days=2)})
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
        scores("when-due", 1, course_file.ClassFile())


def test_two_commands_at_a_time_on_one_class_are_told_apart(course):
    with atomic.alone(course.records), pytest.raises(ClassError, match=f"another command is at work.*{os.getpid()}"):
        with atomic.alone(course.records):
            pass
    with atomic.alone(course.records):
        pass


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
