"""What could not be placed is remembered: until it is clear whose it is, no zero is made of it anywhere."""

import csv
import sqlite3
from datetime import UTC, datetime

import pytest

from grader.classroom.class_file import ClassFile
from grader.intake.import_record import leave_out, unplaced
from grader.intake.importing import import_download
from grader.intake.roster import Person
from grader.reports.export import write_exports
from grader.reports.gradebook import write_gradebook
from grader.runs.assignment import Assignment
from tests.grader.intake.test_importing import ADA, BOB, WORKSHEET, download
from tests.helpers.class_here import answers, graded, hand_in, states

EVE = Person("eve", name="Eve", canvas_id="14")
CLASS = [ADA, BOB, EVE]


def told(course, tmp_path, names, people=CLASS, worksheet=None):
    """Import files by these names, each with bytes of its own; return {name or student: note}."""
    path = download(tmp_path, {name: name.encode() for name in names})
    return {one.student: str(one) for one in import_download(course, "small", path, people, worksheet)}


def exported(course, small, tmp_path, people=CLASS, missing="zero"):
    """Return ({student: score as Canvas gets it}, what was said)."""
    assignment = Assignment(course, small, ClassFile(), people)
    said = write_exports(assignment, canvas=tmp_path / "c.csv", missing=missing)
    with (tmp_path / "c.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))[2:]
    return {row[0]: row[-1] for row in rows}, "\n".join(said)


@pytest.mark.parametrize(
    ("name", "says", "may_be"),
    [
        ("ohararob_13_9_small.ipynb", "13 is there under another name: bob is Bob O'Brien", ["bob"]),
        ("lovelaceada_99_9_small.ipynb", "lovelaceada is there under another number: ada has canvas_id 12", ["ada"]),
        ("ohararob_12_9_small.ipynb", "12 is there under another name: ada is Lovelace, Ada", ["ada"]),
        ("nobody_99_9_small.ipynb", "nobody in the roster is 'nobody 99'", []),
        ("ADA/small.ipynb", "no student is called ADA; ada is", ["ada"]),
        ("Ada Lovelace/small.ipynb", "no student is called Ada Lovelace; ada is", ["ada"]),
        ("small.ipynb", "its name says nobody's name", []),
        ("a/b/c/d/small.ipynb", "its name says nobody's name", []),
        ("Rob OHara_702_assignsubmission_file_/small.ipynb", "nobody in the roster is 'Rob OHara 702'", []),
    ],
)
def test_the_conflict_is_named_and_remembered(course, tmp_path, name, says, may_be):
    found = told(course, tmp_path, [name, "eve_14_7_small.ipynb"])
    assert says in found[name]
    (one,) = unplaced(course, "small")
    assert (one.name, list(one.may_be)) == (name, may_be)


def test_a_participant_of_the_worksheet_who_is_in_no_roster_is_named(course, tmp_path):
    from grader.intake.moodle import read_worksheet

    (tmp_path / "w.csv").write_text(WORKSHEET.replace("ada@school.edu", "countess@x").replace("s1,", "s9,"))
    people = [Person("ada", name="A. King", email="ada@school.edu", sis_id="s1"), BOB]
    name = "Ada Lovelace_701_assignsubmission_file_/small.ipynb"
    found = told(course, tmp_path, [name], people, read_worksheet(tmp_path / "w.csv"))
    assert "participant 701 is Ada Lovelace (countess@x, s9) in the worksheet" in found[name]


@pytest.mark.long  # with nbgrader
def test_who_may_have_handed_it_in_gets_an_empty_cell_everywhere_and_the_others_their_zero(course, small, tmp_path):
    told(course, tmp_path, ["ohararob_13_9_small.ipynb", "lovelaceada_12_8_small.ipynb"])
    grading = graded(course, small, roster=CLASS)
    assert states(grading) == {"ada": {"graded"}, "bob": {"unplaced"}, "eve": {"missing"}}
    scores, said = exported(course, small, tmp_path)
    assert scores["Bob O'Brien"] == "" and scores["Eve"] == "0"
    assert "bob: no score yet (ohararob_13_9_small.ipynb may be theirs: 13 is there under another name" in said
    write_gradebook(course, small, ClassFile(), grading.graded, CLASS)
    with sqlite3.connect(course.gradebook) as book:
        assert "bob" not in {row[0] for row in book.execute("select student_id from submitted_assignment")}


def test_what_may_be_anybodys_leaves_the_cells_of_all_who_have_nothing_empty(course, small, tmp_path):
    told(course, tmp_path, ["nobody_99_9_small.ipynb", "lovelaceada_12_8_small.ipynb"])
    assert states(graded(course, small, roster=CLASS)) == {"ada": {"graded"}, "bob": {"unplaced"}, "eve": {"unplaced"}}
    assert exported(course, small, tmp_path)[0] == {"Lovelace, Ada": "", "Bob O'Brien": "", "Eve": ""}  # ada: by hand


def test_whom_it_might_be_has_handed_in_so_it_may_be_anybodys(course, small, tmp_path):
    told(course, tmp_path, ["lovelaceada_99_9_small.ipynb", "lovelaceada_12_8_small.ipynb"])
    assert states(graded(course, small, roster=CLASS))["eve"] == {"unplaced"}
    assert states(graded(course, small, roster=CLASS, students=["eve"])) == {"eve": {"unplaced"}}


def test_it_is_settled_by_the_roster_or_by_hand_or_by_the_teachers_word(course, small, tmp_path):
    def waits():
        return states(graded(course, small, roster=CLASS))["eve"] == {"unplaced"}

    name = "nobody_99_9_small.ipynb"
    told(course, tmp_path, [name])
    assert waits()
    told(course, tmp_path, ["nobody_99_10_small-1.ipynb"], [*CLASS, Person("rob", name="nobody", canvas_id="99")])
    assert not waits()
    told(course, tmp_path, ["other_98_9_small.ipynb"])
    assert waits()
    hand_in(course, "bob", b"other_98_9_small.ipynb")
    assert not waits()
    told(course, tmp_path, ["guest_97_9_small.ipynb"])
    assert waits()
    assert leave_out(course, "small", ["guest_97"]) == ["guest_97_9_small.ipynb"]
    assert not waits()
    assert "left out" in told(course, tmp_path, ["guest_97_9_small.ipynb"])["guest_97_9_small.ipynb"]
    assert not waits()


def test_the_same_bytes_from_another_student_settle_nothing(course, small, tmp_path):
    files = {"ohararob_13_9_small.ipynb": b"copied", "lovelaceada_12_8_small.ipynb": b"copied"}
    import_download(course, "small", download(tmp_path, files), CLASS)
    assert states(graded(course, small, roster=CLASS))["bob"] == {"unplaced"}
    import_download(course, "small", download(tmp_path, {"eve_14_7_small.ipynb": b"copied"}), CLASS)
    assert states(graded(course, small, roster=CLASS))["bob"] == {"unplaced"}
    hand_in(course, "bob", b"copied")
    assert states(graded(course, small, roster=CLASS))["bob"] == {"graded"}
    assert not unplaced(course, "small")
    import_download(course, "small", course.root / "submitted", CLASS, arrived=datetime(2026, 11, 1, tzinfo=UTC))
    assert not unplaced(course, "small")


def test_a_folder_by_a_name_that_is_not_quite_a_students_makes_no_zero(course, small):
    for name in ("Ada ", "EVE"):
        hand_in(course, name)
    found = states(graded(course, small, roster=CLASS))
    assert (found["ada"], found["eve"], found["bob"]) == ({"unplaced"}, {"unplaced"}, {"missing"})


def test_the_command_says_what_it_means_and_takes_the_teachers_word(course, small, tmp_path):
    from tests.grader.test_cli import command

    (course.root / "roster.csv").write_text("student,name,canvas_id\nada,Ada Lovelace,12\neve,Eve,14\n../x,X,15\n")
    (course.root / "source").mkdir()
    (course.root / "source" / "small").symlink_to(small.folder)
    path = download(tmp_path, {"lovelaceada_12_1_small.ipynb": answers(small), "guest_97_2_small.ipynb": b"{}"})
    status, said = command("import", course.root, path, "--lab", "small")
    assert status == 1 and "1 imported, 1 not." in said
    assert "line 4: '../x' can't be a student's name" in said and "The row is skipped." in said
    assert "no mark instead of a zero" in said and "--leave-out" in said
    status, said = command("grade", course.root, "--lab", "small", "--no-gradebook", "--unsafe-no-sandbox")
    assert status == 1 and "eve" in said and "could not be placed" in said and "our side failed" not in said
    with course.marks.open(newline="") as file:
        assert {row["score"] for row in csv.DictReader(file) if row["student"] == "eve"} == {""}
    status, said = command("import", course.root, path, "--lab", "small", "--leave-out", "guest_97")
    assert status == 0, said
    assert command("grade", course.root, "--lab", "small", "--no-gradebook", "--unsafe-no-sandbox")[0] == 0
    status, said = command("import", course.root, path, "--lab", "small", "--leave-out", "gast")
    assert status == 1 and "--leave-out 'gast': nothing" in said
