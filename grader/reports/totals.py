"""The totals of a class over all its labs, in one file: a row a student, a column a lab, and what is whole added up."""

from collections.abc import Callable
from pathlib import Path

from grader.classroom.csv_cells import plain_csv, write_csv
from grader.classroom.folders import ClassError, CourseFolder
from grader.intake.roster import Person
from grader.reports.lab_totals import standing_totals
from grader.runs.assignment import open_assignment


def write_totals(
    course: CourseFolder, path: Path, missing: str = "zero", tell: Callable[[str], object] = lambda line: None
) -> list[str]:
    """Write the scores of every graded lab to `path`; return lines on what is in the file and what isn't.

    The column `total` adds up the labs that have a score, `of` what these count at most; `waiting` is how many have
    none yet. `missing`: as in `export`. `tell` hears of skipped rows of the roster. Raises ClassError where no lab was
    graded.
    """
    names = sorted(file.stem for file in (course.records / "history").glob("*.jsonl"))
    if not names:
        raise ClassError(f"no lab of this class was graded: {course.records}/history is empty. Run `grade` first.")
    totals, people, lines = {}, {}, []
    for name in names:
        assignment = open_assignment(course.root, name, tell if name == names[0] else lambda line: None)
        people = {person.student: person for person in assignment.people}
        for total in standing_totals(assignment, missing):
            totals.setdefault(total.student, {})[name] = total
            if total.score is None:
                lines.append(f"{total.student}, {name}: no score yet ({total.note}).")
    rows = [_row(people.get(student, Person(student)), by_lab, names) for student, by_lab in sorted(totals.items())]
    write_csv(path, plain_csv([["student", "name", "section", *names, "total", "of", "waiting"], *rows]))
    return [f"{path}: {len(rows)} students, {len(names)} labs.", *lines]


def _row(person, by_lab, names):
    whole = [total for total in by_lab.values() if total.score is not None]
    scores = [f"{by_lab[name].score:g}" if name in by_lab and by_lab[name].score is not None else "" for name in names]
    added = f"{sum(total.score for total in whole):g}" if whole else ""
    most = f"{sum(total.most for total in whole):g}"
    return [person.student, person.full_name, person.section, *scores, added, most, len(names) - len(whole)]
