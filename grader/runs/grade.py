"""`grade`: the marks of a class for one lab, from what lies in submitted/ to marks.csv and nbgrader's gradebook.

A submission that fails costs no other. A process that ends keeps its marks, and the same command goes on from there.
Marking an unchanged submission again changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from grader.classroom import atomic, history
from grader.classroom.folders import ClassError, class_secret, not_a_student, shown, students_of
from grader.classroom.marks_csv import Row, rows_of
from grader.intake.attempts import attempts_of, counted, note_attempt, read_attempt
from grader.intake.handed_in import read_handed_in
from grader.intake.import_record import Unplaced, may_be_theirs, unplaced
from grader.intake.owners import likely
from grader.lab.secret_draw import draw_secret
from grader.marking.mark import mark_submission, unasked
from grader.runs import results
from grader.runs.assignment import Assignment
from grader.runs.workers import Task, mark_all
from grader.sandbox import Sandbox


@dataclass(frozen=True)
class Graded:
    """The mark of one student: its `rows`, and the attempt that counts, where there is one.

    `sha` names its notebook (`results.read_result`), `arrived` is when it came, `cost` the share of the score that
    lateness costs. The cells are not kept here: two hundred notebooks' pictures would fill the memory.
    """

    student: str
    rows: tuple[Row, ...]
    sha: str = ""
    arrived: object = None
    cost: float = 0.0


@dataclass(frozen=True)
class Grading:
    """The result of one run of `grade`. `marked`: how many submissions were marked now; the others were already.

    `unknown`: students whose notebook was put into submitted/ without an import, so that when it arrived is unknown.
    """

    graded: tuple[Graded, ...]
    changes: tuple[history.Change, ...]
    marked: int
    finished: bool = True
    unknown: tuple[str, ...] = ()

    @property
    def rows(self) -> list[Row]:
        """The rows of all students."""
        return [row for student_marks in self.graded for row in student_marks.rows]


def grade(
    assignment: Assignment,
    students: Sequence[str] | None = None,
    jobs: int = 1,
    again: bool = False,
    sandbox: Callable = Sandbox,
    safe: bool = True,
    **more: Any,
) -> Grading:
    """Mark the lab for the class; return a `Grading`. Students of the roster who handed in nothing get `missing`.

    `students`: only these. `jobs`: submissions at a time. `again`: mark even what is marked. `sandbox`, `safe`: what
    runs submissions, and whether it is a real sandbox. `more`: `tell(done, of)` hears of progress, `mark` stands in for
    `mark_submission`, `seconds` for the most that one submission may take.
    """
    course, lab = assignment.course, assignment.lab
    tell = more.get("tell", lambda done, of: None)
    names, odd = _whom(assignment, students)
    plans = _plans(assignment, names)
    mark_of = _Keeper(assignment, safe, _since(course, lab, again, students), class_secret(course))
    unmarked = [(plan, attempt) for plan in plans for attempt in plan.attempts if not mark_of.is_kept(plan, attempt)]
    done, finished = 0, True
    tell(0, len(unmarked))
    tasks = mark_of.tasks(unmarked)
    try:
        for task, marks in mark_all(lab, tasks, jobs, sandbox, more.get("mark", mark_submission), more.get("seconds")):
            mark_of.keep(task.key, marks)
            done += 1
            tell(done, len(unmarked))
    except KeyboardInterrupt:
        finished = False
    graded = [student_marks for plan in plans if (student_marks := mark_of.graded(plan))]
    graded += [mark_of.without(name, "refused", f"{why}.") for name, why in odd.items()]
    if finished and students is None:
        _since_path(course, lab).unlink(missing_ok=True)
    changes = history.record(
        course, lab.name, [row for student_marks in graded for row in student_marks.rows], datetime.now(UTC)
    )
    unknown = tuple(plan.student for plan in plans if plan.first_seen)
    return Grading(tuple(graded), tuple(changes), done, finished, unknown)


def standing(assignment: Assignment) -> tuple[list[Graded], list[str]]:
    """Return the `Graded`s as they stand, and the names of students whose mark isn't made yet; nothing is marked."""
    plans = _plans(assignment, _whom(assignment, None)[0])
    keeper = _Keeper(assignment, True, None, b"")
    marks_of = {plan.student: keeper.graded(plan) for plan in plans}
    return [student_marks for student_marks in marks_of.values() if student_marks], [
        student for student, student_marks in marks_of.items() if student_marks is None
    ]


def _whom(assignment, students):
    """Return the names of those to mark, and {folder that can't be a student's, shown: why}."""
    course = assignment.course
    students_here, odd = students_of(course)
    odd = {name: f"The folder's name can't be a student's: {why}" for name, why in odd.items()}
    everybody = sorted({*students_here, *(person.student for person in assignment.people)})
    if students is None:
        if not everybody:
            raise ClassError(
                f"{course.root}/submitted has no student's folder and there is no roster.csv. Import a download first: "
                f"`python -m grader import {course.root} DOWNLOAD --lab LAB`."
            )
        return everybody, odd
    unknown = [name for name in students if name not in everybody]
    if unknown:
        raise ClassError(
            f"--student {shown(unknown[0])!r}: neither submitted/ nor roster.csv has that name"
            + (f"; it can't be one: {why}." if (why := not_a_student(unknown[0])) else f" ({len(everybody)} others).")
        )
    return list(students), {}


def _plans(assignment, names):
    """Return the `_Plan`s of `names`; a student who may own a file without an owner is `unplaced`."""
    course, lab = assignment.course, assignment.lab.name
    plans = [_Plan.of(assignment, name) for name in names]

    def has_nothing(student):
        return read_handed_in(course, student, lab).state == "missing"

    lost = [*unplaced(course, lab), *_odd_folders(assignment, has_nothing)]
    for number, plan in enumerate(plans if lost else ()):
        perhaps_theirs = may_be_theirs(lost, plan.student, has_nothing) if plan.state == "missing" else ()
        if perhaps_theirs:
            more = f" (and {len(perhaps_theirs) - 1} more)" if len(perhaps_theirs) > 1 else ""
            why = f"{perhaps_theirs[0].name}{more} may be theirs: {perhaps_theirs[0].why}"
            plans[number] = replace(plan, state="unplaced", reason=why)
    return plans


def _odd_folders(assignment, has_nothing):
    """Yield, as `Unplaced`, the folders under submitted/ that are nobody's in the roster and called much like one."""
    course, people = assignment.course, assignment.people
    students = {person.student for person in people}
    place = course.root / "submitted"
    for path in sorted(place.iterdir()) if people and place.is_dir() else ():
        if path.name not in students and not path.is_symlink() and (path / assignment.lab.name).is_dir():
            near = [student for student in likely(path.name, people) if has_nothing(student)]
            if near:
                name = f"submitted/{shown(path.name)}"
                yield Unplaced(name, name, "it is no student's folder. Call it as the roster does.", may_be=tuple(near))


@dataclass(frozen=True)
class _Plan:
    """What counts of one student: `attempts` to mark, or `state` and `reason` where there is none.

    `first_seen`: the notebook was not imported, and is noted as arrived now.
    """

    student: str
    attempts: tuple = ()
    state: str = ""
    reason: str = ""
    first_seen: bool = False

    @classmethod
    def of(cls, assignment, student):
        course, lab = assignment.course, assignment.lab.name
        handed_in = read_handed_in(course, student, lab)
        noted = attempts_of(course, student, lab)
        if handed_in.state == "missing" and not (noted and noted[-1].reason):
            return cls(student, (), "missing", handed_in.reason)
        before = len(noted)
        if handed_in.state != "missing":
            note_attempt(
                course, student, lab, handed_in.data if handed_in.state == "here" else None, reason=handed_in.reason
            )
            noted = attempts_of(course, student, lab)
        is_new = len(noted) > before
        chosen = counted(noted, assignment.rules.lab(lab))
        readable = tuple(attempt for attempt in chosen if attempt.sha)
        state, reason = ("", "") if readable else ("refused", chosen[-1].reason)
        return cls(student, readable, state, reason, is_new)


class _Keeper:
    """Knows which notebooks have a result, and keeps those that are made."""

    def __init__(self, assignment, safe, since, secret):
        self.course, self.lab, self.rules = assignment.course, assignment.lab, assignment.rules
        self.safe, self.since, self.secret = safe, since, secret
        self.fingerprint = results.fingerprint(self.lab.folder)
        self.lost = set()  # students with an attempt whose copy is gone

    def is_kept(self, plan, attempt):
        result = results.read_result(self.course, self.lab.name, plan.student, attempt.sha)
        return results.is_good(result, self.fingerprint, self.safe, self.since)

    def tasks(self, unmarked):
        """Yield a `Task` for each attempt; a notebook is read when its turn comes."""
        for plan, attempt in unmarked:
            data = read_attempt(self.course, plan.student, self.lab.name, attempt)
            if data is None:
                self.lost.add(plan.student)
            else:
                secret = draw_secret(self.secret, plan.student, self.lab.name, data)
                yield Task((plan.student, attempt.sha), data, secret)

    def keep(self, key, marks):
        results.save_result(self.course, results.Result(*key, marks, self.fingerprint, self.safe, datetime.now(UTC)))

    def graded(self, plan):
        """Return the `Graded` of `plan`, of the best attempt where several count; None while it isn't marked."""
        if not plan.attempts:
            return self.without(plan.student, plan.state, plan.reason)
        candidates = [candidate for attempt in plan.attempts if (candidate := self._of_attempt(plan.student, attempt))]
        if not candidates and plan.student in self.lost:
            gone = f"Our side failed: the copy in {self.course.records}/attempts is gone. Import the notebook again."
            return self.without(plan.student, "grader_failed", gone)
        # of two that are worth the same the earlier one: it is the less late
        return max(
            candidates,
            key=lambda candidate: sum(row.score for row in candidate.rows) * (1 - candidate.cost),
            default=None,
        )

    def without(self, student, state, reason):
        """Return the `Graded` of a student who has nothing to mark."""
        marks = unasked(self.lab, state, reason)
        return Graded(student, tuple(rows_of(student, marks, self.rules.lab(self.lab.name), self.safe)))

    def _of_attempt(self, student, attempt):
        result = results.read_result(self.course, self.lab.name, student, attempt.sha)
        if result is None:
            return None
        rows = rows_of(student, result.marks, self.rules.lab(self.lab.name), result.safe)
        cost = self.rules.late.cost(self.rules.late_by(student, self.lab.name, attempt.arrived))
        return Graded(student, tuple(rows), attempt.sha, attempt.arrived, cost)


def _since(course, lab, again, students):
    """Return since when results count, or None for always: an interrupted `again` goes on where it stopped."""
    path = _since_path(course, lab)
    if students is not None:
        return datetime.now(UTC) if again else None
    if again and not path.exists():
        atomic.write_json(path, datetime.now(UTC).isoformat())
    begun = atomic.read_json(path)
    return datetime.fromisoformat(begun) if begun else None


def _since_path(course, lab):
    return course.records / f"again-{lab.name}.json"
