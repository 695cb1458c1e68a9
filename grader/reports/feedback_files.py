"""Feedback as files, one page a student, with what persons entered into the gradebook."""

from grader.classroom import atomic
from grader.classroom.folders import ClassError, not_a_student
from grader.marking.mark import ExerciseMark, Marks
from grader.reports.feedback import Remark, feedback_page
from grader.reports.gradebook import read_gradebook
from grader.runs.grade import standing
from grader.runs.results import read_result


def write_feedback(course, lab, rules, people=(), students=()):
    """Write the pages of `lab` (as `load_lab` gives it); return the paths, and the students who aren't marked yet."""
    graded, waiting = standing(course, lab, rules, people)
    book = read_gradebook(course, lab)
    written = []
    for one in graded:
        if (students and one.student not in students) or not_a_student(one.student):
            continue
        if all(row.state == "missing" for row in one.rows) and not one.sha:
            continue  # who handed in nothing gets no page
        path = course.feedback(one.student, lab.name)
        if any(place.is_symlink() for place in (path, path.parent, path.parent.parent)):
            raise ClassError(
                f"{path} or a folder of it is a symbolic link. Remove it, then run the same command again."
            )
        remarks = _remarks(book.get(one.student))
        atomic.write(path, feedback_page(_marks(course, lab, one), one.student, remarks, _notes(one)))
        written.append(path)
    return written, [student for student in waiting if not students or student in students]


def _marks(course, lab, one):
    """Return the marks as the class file has them: the rows' scores and reasons, with the cells of the result."""
    result = read_result(course, lab.name, one.student, one.sha) if one.sha else None
    by_hand = {exercise.name: exercise.manual for exercise in lab.exercises}
    cases = {mark.name: mark.cases for mark in result.marks.exercises} if result else {}
    marks = tuple(
        ExerciseMark(
            r.exercise, r.state, r.score, r.max_score, r.reason, cases.get(r.exercise, ()), by_hand[r.exercise]
        )
        for r in one.rows
    )
    return Marks(lab.name, marks, result.marks.cells if result else (), result.marks.log if result else "")


def _remarks(entered):
    if entered is None:
        return {}
    return {name: Remark(m.score, m.comment) for name, m in entered.manual.items() if m.score is not None or m.comment}


def _notes(one):
    return [f"Handed in late: {one.cost:.0%} of the score is taken off."] if one.cost else []
