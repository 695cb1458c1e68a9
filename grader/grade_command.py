"""One run of the command `grade`: it looks for a sandbox, makes the marks, and writes them to each of their places.

A place that can't be written costs that place only: the problem is reported at the end, and the same command goes on.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.folders import ClassError
from grader.classroom.history import report
from grader.classroom.marks_csv import write_marks
from grader.reports.autograded import write_autograded
from grader.reports.gradebook import write_gradebook
from grader.reports.progress import Progress
from grader.runs.assignment import Assignment
from grader.runs.grade import grade
from grader.sandbox import Profile, Sandbox, SandboxUnavailable
from grader.sandbox.unsafe import WARNING, UnsafeSandbox


def run(
    assignment: Assignment,
    say: Callable[[str], object],
    students: Sequence[str] = (),
    jobs: int = 1,
    marks: Path | None = None,
    again: bool = False,
    **switches: bool,
) -> list[str]:
    """Grade the assignment, `say` the results, and return the problems, a sentence each.

    `marks`: their file, by default the class's. `switches`: `no_gradebook`, `unsafe_no_sandbox`.
    """
    course, lab = assignment.course, assignment.lab
    safe = not switches.get("unsafe_no_sandbox")
    if safe:
        _refuse_without_sandbox()
    else:
        say(f"WARNING: students' code runs as you, with all that you may do. Every row says: {WARNING}.")
    progress = Progress(lab.name)
    with atomic.alone(course.records):
        try:
            sandbox = Sandbox if safe else UnsafeSandbox
            graded = grade(assignment, list(students) or None, jobs, again, sandbox, safe, tell=progress)
        finally:
            progress.end()
        problems = _places(assignment, graded, marks, bool(students), switches, say)
    _summary(graded, say)
    if graded.unknown:
        say(_arrived_now(course, lab, graded.unknown))
    if not graded.finished:
        problems.append("stopped before the end. Marks that were made are kept: run the same command again to go on.")
    failed = sorted({row.student for row in graded.rows if row.state == "grader_failed"})
    waiting = sorted({row.student for row in graded.rows if row.state == "unplaced"})
    if failed:
        problems.append(
            f"our side failed for {len(failed)} submissions ({', '.join(failed[:5])}): they have no mark, which is not "
            "a zero. The column reason says what happened; run the same command again to mark them."
        )
    if waiting:
        problems.append(
            f"{len(waiting)} students ({', '.join(waiting[:5])}) have no mark, which is not a zero: what could not be "
            "placed may be theirs. The column reason says what; `import` says how to settle it."
        )
    return problems


def _refuse_without_sandbox():
    try:
        Sandbox(Profile(seconds=20)).run("pass")
    except SandboxUnavailable as problem:
        raise ClassError(
            f"there is no sandbox to run students' code in: {problem} `python -m grader doctor` tells more. "
            f"With --unsafe-no-sandbox it runs as you, and every row of the marks says so."
        ) from None


def _places(assignment, graded, marks, some, switches, say):
    """Write the marks to each of their places; return the problems."""
    course, lab = assignment.course, assignment.lab
    problems, path = [], marks or course.marks
    try:
        # marking the whole class leaves no old row; marking some students replaces theirs only
        write_marks(path, graded.rows, (lab.name,) if graded.finished and not some else ())
        say(f"{len(graded.rows)} rows in {path}.")
    except ClassError as problem:
        problems.append(str(problem))
    if switches.get("no_gradebook"):
        return problems
    try:
        flagged = write_gradebook(course, lab, assignment.rules, graded.graded, assignment.people)
        for student_marks in graded.graded:
            write_autograded(course, lab, student_marks)
        for student, exercise, before, score in flagged:
            change = f"the automatic mark beside it went from {before} to {score}"
            say(f"{student}, {exercise}: marked by a person; {change}.")
    except ClassError as problem:
        problems.append(str(problem))
    return problems


def _arrived_now(course, lab, students):
    submitted = course.root / "submitted"
    return (
        f"{len(students)} notebooks in {submitted} were not imported ({', '.join(students[:5])}): they are noted as "
        f"arrived now. If they came earlier, say when, then run `grade` again: `python -m grader import "
        f"{course.root} {submitted} --lab {lab.name} --arrived 2026-12-01T23:59`."
    )


def _summary(graded, say):
    states = Counter(row.state for row in graded.rows)
    total = len({row.student for row in graded.rows})
    counts = ", ".join(f"{count} {state}" for state, count in states.most_common())
    say(f"{total} students, {graded.marked} submissions marked now. Their exercises: {counts or 'none'}.")
    changed = [change for change in graded.changes if change.before is not None]
    for line in report(changed) if changed else ():
        say(line)
