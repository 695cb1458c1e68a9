"""nbgrader's gradebook: marks get there by its API, a person's are never touched, and its troubles have sentences."""

import os
import sqlite3
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

from grader.classroom.class_file import ClassFile, LabRules, Late
from grader.classroom.folders import ClassError
from grader.intake.roster import Person
from grader.reports import gradebook
from grader.reports import nbgrader_db as gradebook_file
from grader.reports.autograded import write_autograded
from grader.reports.feedback import write_feedback
from grader.reports.gradebook import read_gradebook, write_gradebook
from grader.runs.assignment import Assignment
from tests.helpers.class_here import graded, hand_in

if find_spec("nbgrader") is None:  # a second of imports, which every process of the run would pay to collect its tests
    pytest.skip("NOT TESTED HERE: nbgrader is not installed (pip install 'course[grading]')", allow_module_level=True)
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::sqlalchemy.exc.SAWarning"),
]

RULES = ClassFile()


@pytest.fixture(scope="module")
def empty(tmp_path_factory, small):
    """The bytes of a gradebook without students: making one runs alembic, which takes a second."""
    from grader.classroom.folders import open_course

    root = tmp_path_factory.mktemp("empty")
    (root / "submitted").mkdir()
    write_gradebook(open_course(root), small, RULES, [])
    return (root / "gradebook.db").read_bytes()


@pytest.fixture
def book(course, empty):
    """Open the class's gradebook as nbgrader does."""
    from nbgrader.api import Gradebook

    course.gradebook.write_bytes(empty)
    opened = []

    def open_():
        opened.append(Gradebook(f"sqlite:///{course.gradebook}"))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


def write_class(course, small, **handed_in):
    """Write the class's marks, after these students handed in notebooks of these words; return what is flagged."""
    for student, text in handed_in.items():
        hand_in(course, student, text)
    return write_gradebook(course, small, RULES, graded(course, small).graded)


def grades(book, student):
    """Return {cell: (auto_score, manual_score, needs_manual_grade)} as nbgrader finds them."""
    found = book.find_submission("small", student).notebooks[0].grades
    return {grade.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade) for grade in found}


def test_marks_get_into_the_gradebook_as_nbgrader_has_them(course, small, book):
    hand_in(course, "ada")
    hand_in(course, "bob", "HALF")
    (course.root / "submitted" / "cyd").mkdir()
    people = [Person("ada", "Lovelace, Ada", email="ada@x", canvas_id="12"), Person("bob", "Bob B. Beer")]
    assert write_gradebook(course, small, RULES, graded(course, small).graded, people) == []
    with book() as found:
        assert grades(found, "ada") == {
            "check_double": (3.0, None, False),
            "check_total": (2.0, None, False),
            "check_shifted": (1.0, None, False),
            "words": (None, None, True),
        }
        assert found.find_submission("small", "bob").score == 3.0
        assert found.find_assignment("small").max_score == 10.0
        assert sorted(student.id for student in found.students) == ["ada", "bob", "cyd"]
        assert len(found.assignment_submissions("small")) == 2  # cyd has nothing to look at
        ada, bob = found.find_student("ada"), found.find_student("bob")
        assert (ada.first_name, ada.last_name, ada.email, ada.lms_user_id) == ("Ada", "Lovelace", "ada@x", "12")
        assert (bob.first_name, bob.last_name) == ("Bob B.", "Beer")
        notebook = found.find_notebook("small", "small")
        assert {cell.name for cell in notebook.solution_cells} == {"double", "total", "shifted", "words"}
        assert {cell.name for cell in notebook.source_cells} >= {"double", "check_double", "words"}


def test_what_a_person_entered_is_never_overwritten_and_flagged_when_the_automatic_mark_changes(course, small, book):
    write_class(course, small, ada="HALF")
    with book() as found:
        found.find_grade("check_double", "small", "small", "ada").manual_score = 2.5
        found.find_grade("words", "small", "small", "ada").manual_score = 4.0
        found.find_grade("words", "small", "small", "ada").needs_manual_grade = False
        found.find_grade("check_total", "small", "small", "ada").extra_credit = 1.0
        found.find_comment("double", "small", "small", "ada").manual_comment = "nearly"
        found.db.commit()
    assert write_gradebook(course, small, RULES, graded(course, small, again=True).graded) == []
    flagged = write_class(course, small, ada="FULL")
    assert flagged == [("ada", "double", 1.5, 3.0)]
    with book() as found:
        assert grades(found, "ada") == {
            "check_double": (3.0, 2.5, True),
            "check_total": (2.0, None, False),
            "check_shifted": (1.0, None, False),
            "words": (None, 4.0, False),
        }
        assert found.find_comment("double", "small", "small", "ada").comment == "nearly"
        assert found.find_submission("small", "ada").score == 2.5 + 2 + 1 + 1 + 4
    manual = read_gradebook(course, small)["ada"]
    assert (manual["double"].score, manual["double"].comment, manual["double"].due) == (2.5, "nearly", True)
    assert manual["total"].score == 3.0
    assert manual["shifted"].score is None


def test_a_stop_in_mid_writing_leaves_the_earlier_marks_and_the_next_time_completes_them(
    course, small, book, monkeypatch
):
    write_class(course, small, ada="FULL")
    hand_in(course, "ada", "HALF")
    hand_in(course, "bob", "HALF")
    changed, write = graded(course, small).graded, gradebook._write_marks

    def stopped_at_bob(book, lab, rules, one, cells):
        if one.student == "bob":
            raise KeyboardInterrupt
        return write(book, lab, rules, one, cells)

    monkeypatch.setattr(gradebook, "_write_marks", stopped_at_bob)
    with pytest.raises(KeyboardInterrupt):
        write_gradebook(course, small, RULES, changed)
    monkeypatch.undo()
    with book() as found:
        assert found.find_submission("small", "ada").score == 6.0
        assert [one.id for one in found.students] == ["ada"]
    write_gradebook(course, small, RULES, changed)
    with book() as found:
        assert [found.find_submission("small", one).score for one in ("ada", "bob")] == [3.0, 3.0]


def test_our_failure_is_no_zero_in_the_gradebook(course, small, book):
    write_class(course, small, ada="RAISE")
    with book() as found:
        assert set(grades(found, "ada").values()) == {(None, None, True)}
    write_class(course, small, ada="FULL")
    with book() as found:
        assert found.find_submission("small", "ada").score == 6.0


def test_a_withdrawn_notebook_leaves_no_marks_behind(course, small, book):
    write_class(course, small, ada="FULL")
    write_autograded(course, small, graded(course, small).graded[0])
    (course.submitted("ada", "small") / "small.ipynb").unlink()
    after = graded(course, small).graded
    write_gradebook(course, small, RULES, after)
    write_autograded(course, small, after[0])
    with book() as found:
        assert found.find_submission("small", "ada").score == 0.0
    assert not course.autograded("ada", "small").exists()


def test_due_dates_extensions_and_penalties_are_nbgrader_s_too(course, small, book):
    hand_in(course, "ada")
    due = datetime.now(UTC) - timedelta(days=1, hours=12)
    rules = ClassFile(
        late=Late(share=0.25), rules={"small": LabRules(due=due)}, extensions={("ada", "small"): timedelta(days=1)}
    )
    write_gradebook(course, small, rules, graded(course, small, rules).graded)
    with book() as found:
        submission = found.find_submission("small", "ada")
        assert submission.extension == timedelta(days=1)
        assert 11 * 3600 < submission.total_seconds_late < 13 * 3600
        assert submission.late_submission_penalty == 1.5
    hand_in(course, "ada", "FULL again")
    write_class(course, small)
    with book() as found:
        assert not found.find_submission("small", "ada").late_submission_penalty


def test_a_comment_is_dead_text(course, small, book):
    from dataclasses import replace

    hand_in(course, "ada")
    (one,) = graded(course, small).graded
    row = replace(one.rows[0], reason="gave <script>alert(1)</script> and $\\href{javascript:x}{y}$")
    write_gradebook(course, small, RULES, [replace(one, rows=(row, *one.rows[1:]))])
    with book() as found:
        comment = found.find_comment("double", "small", "small", "ada").comment
    assert comment and not set("<$\\") & set(comment)


def test_a_cell_that_the_lab_got_since_is_added_to_earlier_submissions(course, small, book):
    from dataclasses import replace

    hand_in(course, "ada")
    (one,) = graded(course, small).graded
    fewer = replace(small, exercises=small.exercises[1:])
    write_gradebook(course, fewer, RULES, [replace(one, rows=one.rows[1:])])
    with book() as found:
        for notebook in found.find_submission("small", "ada").notebooks:
            for grade in [grade for grade in notebook.grades if grade.name == "check_double"]:
                found.db.delete(grade)
        found.db.commit()
    write_gradebook(course, small, RULES, [one])
    with book() as found:
        assert found.find_submission("small", "ada").score == 6.0


def test_a_locked_gradebook_keeps_its_marks_and_is_told(course, small, book, monkeypatch):
    write_class(course, small, ada="HALF")
    hand_in(course, "ada")
    monkeypatch.setattr(gradebook_file, "PATIENCE", 0.2)
    other = sqlite3.connect(course.gradebook)
    try:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ClassError, match="in use by another program.*run the same command again"):
            write_class(course, small)
        other.rollback()
    finally:
        other.close()
    with book() as found:
        assert found.find_submission("small", "ada").score == 3.0
    write_class(course, small)
    with book() as found:
        assert found.find_submission("small", "ada").score == 6.0


@pytest.mark.parametrize("harm", ["text", "middle"])
def test_a_corrupt_gradebook_is_told_and_left_alone(course, small, book, harm):
    hand_in(course, "ada")
    data = b"not a database, but long enough" * 40
    if harm == "middle":
        whole = course.gradebook.read_bytes()
        data = whole[:2000] + b"\xff" * (len(whole) - 2000)
    course.gradebook.write_bytes(data)
    with pytest.raises(ClassError, match="no gradebook, or a broken one.*mv .*gradebook.db.broken"):
        write_class(course, small)
    assert course.gradebook.read_bytes() == data


def test_alembic_beside_this_python_is_found_and_its_absence_told(course, small, monkeypatch):
    hand_in(course, "ada")
    one = graded(course, small).graded
    monkeypatch.setenv("PATH", "/nowhere")
    import sys

    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(ClassError, match="needs the program alembic, and it is not on the path"):
            write_gradebook(course, small, RULES, one)
    assert not course.gradebook.exists()
    if not (Path(sys.executable).parent / "alembic").exists():
        pytest.skip("NOT TESTED HERE: this Python has no alembic beside it")
    write_gradebook(course, small, RULES, one)
    assert os.environ["PATH"] == "/nowhere"
    assert course.gradebook.stat().st_mode & 0o077 == 0


def test_a_gradebook_that_is_a_link_is_not_followed(course, small, tmp_path):
    course.gradebook.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(ClassError, match="a link or no plain file"):
        write_gradebook(course, small, RULES, [])
    assert not (tmp_path / "elsewhere.db").exists()


def test_the_notebook_for_formgrader_is_there_and_made_again_only_when_it_must_be(course, small):
    hand_in(course, "ada", "<script>alert(1)</script> FULL")
    (one,) = graded(course, small).graded
    write_autograded(course, small, one)
    path = course.autograded("ada", "small")
    first = path.stat().st_mtime_ns
    write_autograded(course, small, one)
    assert path.stat().st_mtime_ns == first
    graded(course, small, again=True)
    write_autograded(course, small, one)
    assert path.stat().st_mtime_ns != first
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(ClassError, match="symbolic link"):
        write_autograded(course, small, one)


def test_nbgrader_s_own_list_says_that_all_is_graded(course, small, book, monkeypatch):
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    hand_in(course, "ada")
    (course.submitted("ada", "small") / "timestamp.txt").write_text("1999-01-01 00:00:00 UTC")  # the student's word
    (one,) = graded(course, small).graded
    write_gradebook(course, small, RULES, [one])
    write_autograded(course, small, one)
    monkeypatch.chdir(course.root)
    config = Config()
    config.CourseDirectory.root = str(course.root)
    (told,) = NbGraderAPI(config=config).get_submissions("small")
    assert (told["student"], told["autograded"], told["score"]) == ("ada", True, 6.0)
    assert told["timestamp"][:4] != "1999"


def test_feedback_pages_have_a_person_s_marks(course, small, book):
    hand_in(course, "ada", "HALF")
    (course.root / "submitted" / "bob").mkdir()
    write_class(course, small)
    with book() as found:
        found.find_grade("words", "small", "small", "ada").manual_score = 3.5
        found.find_comment("words", "small", "small", "ada").manual_comment = "a <b>fine</b> text"
        found.db.commit()
    written, waiting = write_feedback(Assignment(course, small, RULES))
    assert (written, waiting) == ([course.feedback("ada", "small")], [])
    page = written[0].read_text()
    assert "3.5" in page
    assert "a &lt;b&gt;fine" in page
