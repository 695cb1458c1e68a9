"""What a student gets for a lab in the end: automatic marks, a person's in their place, lateness, points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.class_file import ClassFile
from grader.lab.spec import Lab
from grader.reports.gradebook import Manual
from grader.runs.grade import Graded


@dataclass(frozen=True)
class Total:
    """What a student gets for a lab: `score` out of `most`, None while it isn't whole; `note` says why."""

    student: str
    score: float | None
    most: float
    note: str = ""


def totals_of(
    lab: Lab,
    rules: ClassFile,
    graded: Sequence[Graded],
    waiting: Sequence[str],
    book: Mapping[str, Mapping[str, Manual]],
) -> list[Total]:
    """Return a `Total` a student. `graded`, `waiting`: as `grade.standing` gives; `book`: as `read_gradebook` gives.

    `lab` as `load_lab` gives it, `rules` the `ClassFile`.
    """
    most = rules.lab(lab.name).points or lab.points
    found = [_total(lab, one, book.get(one.student, {}), most) for one in graded]
    found += [Total(student, None, most, "not marked yet") for student in waiting]
    return sorted(found, key=lambda total: total.student)


def _total(lab, one, entered, most):
    scores, pending = [], []
    for row in one.rows:
        theirs = entered.get(row.exercise)
        if theirs is not None and theirs.score is not None:
            scores.append(theirs.score)
        elif row.is_pending:
            pending.append(f"{row.exercise}: our side failed, mark it again")
        elif lab.exercise(row.exercise).manual and row.state == "graded":
            pending.append(f"{row.exercise}: waits for a person's mark")
        else:
            scores.append(row.score)
    if pending:
        return Total(one.student, None, most, "; ".join(pending))
    score = sum(scores) * (1 - one.cost) * (most / lab.points if lab.points else 1.0)
    return Total(one.student, round(max(0.0, score), 4), most, f"late: -{one.cost:.0%}" if one.cost else "")
