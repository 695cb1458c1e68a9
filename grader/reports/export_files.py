"""The files that `export` writes, and what it says of them."""

from grader.classroom import atomic
from grader.classroom.folders import ClassError
from grader.intake.moodle import filled_worksheet, read_worksheet
from grader.intake.owners import entry_of
from grader.reports.export import canvas_file, moodle_file
from grader.reports.gradebook import read_gradebook
from grader.reports.totals import totals_of
from grader.runs.grade import standing


def write_exports(course, lab, rules, people=(), canvas=None, moodle=None, worksheet=None):
    """Write the files asked for (paths, or None); return lines on what is in them and what isn't."""
    graded, waiting = standing(course, lab, rules, people)
    totals = totals_of(lab, rules, graded, waiting, read_gradebook(course, lab))
    most = totals[0].most if totals else lab.points
    lines = []
    if canvas:
        column = rules.lab(lab.name).canvas or lab.name
        text, unsure = canvas_file(totals, people, column, most)
        _write(canvas, text)
        lines.append(f"{canvas}: {len(totals)} students, column {column!r}. Canvas: Gradebook, Import.")
        if unsure:
            lines.append(
                f"Canvas may not find {len(unsure)} of them: {', '.join(unsure[:5])} have no number in the roster. "
                f"Save Canvas's export of its gradebook as {course.root / 'roster.csv'}, remove their folders from "
                "submitted/, then import and grade again."
            )
    if moodle and worksheet:
        lines += _worksheet(totals, people, moodle, read_worksheet(worksheet, rules.timezone), most)
    elif moodle:
        _write(moodle, moodle_file(totals, people, lab.name))
        lines.append(f"{moodle}: {len(totals)} students. Moodle: Grades, Import, CSV file.")
    lines += [f"{total.student}: no score yet ({total.note})." for total in totals if total.score is None]
    return lines


def _worksheet(totals, people, path, entries, most):
    scores, lost = {}, []
    for total in totals:
        number = entry_of(total.student, people, entries)
        if number is None:
            lost.append(total.student)
        elif total.score is not None:
            scores[number] = total.score
    _write(path, filled_worksheet(entries, scores, most))
    lines = [f"{path}: {len(scores)} of {len(entries)} rows filled in. Moodle: Upload grading worksheet."]
    if lost:
        lines.append(f"{len(lost)} students are not in the worksheet: {', '.join(lost[:5])}.")
    return lines


def _write(path, text):
    if path.is_dir():
        raise ClassError(f"{path} is a folder; name a file.")
    atomic.write(path, "\ufeff" + text if not text.isascii() else text)
