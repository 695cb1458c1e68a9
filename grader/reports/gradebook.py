"""nbgrader's gradebook, through its own API, so that its formgrader works on these marks.

Each exercise is two cells there, as nbgrader has it: NAME, the answer, which carries a person's comments, and
check_NAME, which carries the score; of an exercise that a person marks the answer carries both. What a person entered,
scores, extra credit and comments, is never changed; where the automatic mark beside it has changed, it is flagged.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC

from grader.classroom.class_file import ClassFile
from grader.classroom.folders import ClassError, CourseFolder, not_a_student
from grader.intake.roster import Person
from grader.lab.release import KERNEL
from grader.lab.source import check_id
from grader.lab.spec import Lab
from grader.reports.nbgrader_db import open_gradebook
from grader.runs.grade import Graded

#: Students entered in one transaction: a commit waits for the disk, and a long one has formgrader wait.
TOGETHER = 20
#: A comment is markdown in nbgrader's own feedback, and a reason quotes values of the student's: no HTML, no formula.
_DEAD = str.maketrans({"<": "\u2039", "$": "\uff04", "\\": "\u29f5"})


@dataclass(frozen=True)
class Manual:
    """What a person entered for one exercise: a `score` (extra credit counted) or None, and a `comment`.

    `due`: the gradebook waits for a person's mark, or for a person to look at it again.
    """

    score: float | None = None
    comment: str = ""
    due: bool = False


def write_gradebook(
    course: CourseFolder, lab: Lab, rules: ClassFile, graded: Sequence[Graded], roster: Sequence[Person] = ()
) -> list[tuple[str, str, float | None, float | None]]:
    """Put the marks of `graded` into `course`'s gradebook; return (student, exercise, before, now) of flagged ones.

    `lab` as `load_lab` gives it. Raises ClassError, with the marks that were there intact,
    where nbgrader or alembic is missing, or the gradebook is locked or corrupt.
    """
    flagged = []
    with open_gradebook(course) as book:
        # else every commit, four a student, would have all that is loaded read again
        book.db().expire_on_commit = False
        cells = _write_lab(book, lab, rules)
        people = {person.student: person for person in roster}
        entered = [student_marks for student_marks in graded if not_a_student(student_marks.student) is None]
        for first in range(0, len(entered), TOGETHER):
            with _one_commit(book):
                for student_marks in entered[first : first + TOGETHER]:
                    _write_person(book, people.get(student_marks.student, Person(student_marks.student)))
                    if student_marks.sha or any(row.state not in ("missing", "unplaced") for row in student_marks.rows):
                        flagged += _write_marks(book, lab, rules, student_marks, cells)
                    else:
                        flagged += _withdraw(book, lab, student_marks, cells)
    return flagged


@contextlib.contextmanager
def _one_commit(book):
    """Make one transaction, all or none, of what nbgrader's API does within the `with`: it commits at every step."""
    session = book.db()
    session.commit = session.flush
    try:
        yield
    finally:
        del session.commit
    session.commit()


def read_gradebook(course: CourseFolder, lab: Lab) -> dict[str, dict[str, Manual]]:
    """Return {student: {exercise: Manual}}, what persons entered for `lab` (as `load_lab` gives it).

    {} without a gradebook. Raises ClassError as `write_gradebook` does.
    """
    if not course.gradebook.exists():
        return {}
    remarks = {}
    with open_gradebook(course) as book:
        from nbgrader.api import MissingEntry

        try:
            submissions, cells = book.assignment_submissions(lab.name), _Cells.of(book, lab.name)
        except MissingEntry:
            return {}
        for submission in submissions:
            grades, comments = cells.in_(submission)
            remarks[submission.student.id] = {e.name: _manual(e, grades, comments) for e in lab.exercises}
    return remarks


def _manual(exercise, grades, comments):
    grade, comment = grades.get(_graded_cell(exercise)), comments.get(exercise.name)
    if grade is None:
        return Manual()
    score = grade.manual_score
    if score is None and grade.extra_credit:
        score = grade.auto_score or 0.0
    if score is not None:
        score += grade.extra_credit or 0.0
    return Manual(score, (comment.manual_comment or "") if comment else "", bool(grade.needs_manual_grade))


def _write_lab(book, lab, rules):
    """Enter the lab as it stands; return its `_Cells`."""
    due = rules.lab(lab.name).due
    due = due.astimezone(UTC).replace(tzinfo=None) if due else None
    book.update_or_create_assignment(lab.name, duedate=due)
    notebook = book.update_or_create_notebook(lab.name, lab.name, kernelspec=json.dumps(KERNEL["kernelspec"]))
    entered = {cell.name for cell in [*notebook.grade_cells, *notebook.solution_cells]}
    wanted = {name for e in lab.exercises for name in (e.name, check_id(e.name))}
    if entered - wanted and notebook.submissions:
        gone = ", ".join(sorted(entered - wanted))
        raise ClassError(
            f"the gradebook has the cells {gone} of {lab.name}, and marks for them, and the lab has them no more. Give "
            "the changed lab another name, or move gradebook.db away."
        )
    for exercise in lab.exercises:
        cell = lab.source.cell(exercise.name)
        kind, points, by_hand = cell.type, float(exercise.points or 0), exercise.manual
        book.update_or_create_solution_cell(exercise.name, lab.name, lab.name)
        book.update_or_create_source_cell(
            exercise.name, lab.name, lab.name, cell_type=kind, source=cell.text, locked=False
        )
        graded = _graded_cell(exercise)
        kind = kind if by_hand else "code"
        book.update_or_create_grade_cell(graded, lab.name, lab.name, max_score=points, cell_type=kind)
        if not by_hand:
            text = next((c.text for c in lab.source.cells if c.role == "check" and c.exercise == exercise.name), "")
            book.update_or_create_source_cell(graded, lab.name, lab.name, cell_type="code", source=text, locked=True)
    return _Cells.of(book, lab.name)


def _graded_cell(exercise):
    return exercise.name if exercise.manual else check_id(exercise.name)


def _write_person(book, person):
    first, last = person.first, person.last
    if not (first or last):
        last, comma, first = (part.strip() for part in person.full_name.partition(","))
        first, last = (first, last) if comma else person.full_name.rpartition(" ")[::2]
    pairs = {"first_name": first, "last_name": last, "email": person.email, "lms_user_id": person.canvas_id}
    book.update_or_create_student(person.student, **{key: value[:128] for key, value in pairs.items() if value})


def _write_marks(book, lab, rules, student_marks, cells):
    """Enter the automatic marks of one student; return those beside a person's mark that changed."""
    arrived = student_marks.arrived.astimezone(UTC).replace(tzinfo=None) if student_marks.arrived else None
    due, own = rules.lab(lab.name).due, rules.due(student_marks.student, lab.name)
    submission = book.update_or_create_submission(lab.name, student_marks.student)
    submission.timestamp = arrived
    submission.extension = own - due if due is not None and own is not None and own != due else None
    cells.complete(book, submission)
    grades, comments = cells.in_(submission)
    rows = {row.exercise: row for row in student_marks.rows}
    flagged = []
    for exercise in lab.exercises:
        row = rows[exercise.name]
        grade = grades[_graded_cell(exercise)]
        # None where a person is to give it or the grader failed
        score = None if row.is_pending or (exercise.manual and row.state == "graded") else row.score
        before, grade.auto_score = grade.auto_score, score
        if grade.manual_score is None:
            grade.needs_manual_grade = score is None
        elif score != before and not exercise.manual:
            grade.needs_manual_grade = True
            flagged.append((student_marks.student, exercise.name, before, score))
        comments[exercise.name].auto_comment = row.reason.translate(_DEAD) or None
    _write_penalty(cells.notebook_of(submission), student_marks, grades.values())
    book.db.commit()
    return flagged


def _write_penalty(notebook, student_marks, grades):
    """Enter the late penalty, of the score as it stands with a person's marks in it."""
    points = [g.auto_score if g.manual_score is None else g.manual_score for g in grades]
    total = sum(score or 0.0 for score in points) + sum(g.extra_credit or 0.0 for g in grades)
    notebook.late_submission_penalty = round(total * student_marks.cost, 4) if student_marks.cost else None


def _withdraw(book, lab, student_marks, cells):
    """Leave no automatic marks of an earlier notebook that was withdrawn, and make no submission of nothing."""
    from nbgrader.api import MissingEntry

    try:
        submission = book.find_submission(lab.name, student_marks.student)
    except MissingEntry:
        return []
    cells.complete(book, submission)
    grades, _ = cells.in_(submission)
    flagged = []
    for exercise in lab.exercises:
        grade = grades[_graded_cell(exercise)]
        if grade.auto_score != 0 and grade.manual_score is not None:
            flagged.append((student_marks.student, exercise.name, grade.auto_score, 0.0))
            grade.needs_manual_grade = True
        elif grade.manual_score is None:
            grade.needs_manual_grade = False
        grade.auto_score = 0.0
    book.db.commit()
    return flagged


@dataclass(frozen=True)
class _Cells:
    """The lab's cells in the gradebook: `names` of their ids, and which of them carry scores; the others comments."""

    notebook: object
    names: Mapping[str, str]
    graded: frozenset

    @classmethod
    def of(cls, book, lab):
        notebook = book.find_notebook(lab, lab)
        names = {cell.id: cell.name for cell in [*notebook.grade_cells, *notebook.solution_cells]}
        return cls(notebook, names, frozenset(cell.id for cell in notebook.grade_cells))

    def notebook_of(self, submission):
        """Return the submission's part for this notebook, or None."""
        return next((notebook for notebook in submission.notebooks if notebook.notebook_id == self.notebook.id), None)

    def in_(self, submission):
        """Return ({cell: Grade}, {cell: Comment}) of a submission."""
        notebook = self.notebook_of(submission)
        if notebook is None:
            return {}, {}
        grades = {self.names[entry.cell_id]: entry for entry in notebook.grades if entry.cell_id in self.names}
        return grades, {self.names[entry.cell_id]: entry for entry in notebook.comments if entry.cell_id in self.names}

    def complete(self, book, submission):
        """Add to a submission the cells that the lab got since."""
        from nbgrader.api import Comment, Grade, SubmittedNotebook

        notebook = self.notebook_of(submission)
        if notebook is None:
            notebook = SubmittedNotebook(notebook=self.notebook, assignment=submission)
            book.db.add(notebook)
        cell_ids = {entry.cell_id for entry in [*notebook.grades, *notebook.comments]}
        for cell in sorted(self.names.keys() - cell_ids):
            book.db.add((Grade if cell in self.graded else Comment)(cell_id=cell, notebook=notebook))
        if book.db.new:
            book.db.commit()
