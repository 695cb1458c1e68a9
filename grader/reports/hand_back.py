"""Feedback goes back the way the notebooks came: zips that Canvas and Moodle take.

    Canvas    lovelaceada_12_9001_feedback.html
    Moodle    Ada Lovelace_701_assignfeedback_file_small.html

Canvas finds a file's owner by the first two numbers in its name, the student's and that of the attachment handed in,
and shows it under the attachment's name (canvas-lms `infer_comment_context_from_filename`); Moodle by the
participant's number, with the plugin that takes the file after it (`mod/assign/feedback/file/importziplib.php`).
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.folders import ClassError
from grader.intake.import_record import came_as
from grader.intake.moodle import Entry
from grader.intake.owners import CANVAS, MOODLE, entry_of
from grader.runs.assignment import Assignment


def canvas_zip(assignment: Assignment, path: Path) -> list[str]:
    """Write the feedback pages of those whose notebooks came from Canvas as a zip for it; return lines on it."""
    course, lab = assignment.course, assignment.lab.name
    came = came_as(course, lab)
    names = {
        student: "_".join(part for part in (sender.who, sender.number, sender.attachment, "feedback.html") if part)
        for student, sender in came.items()
        if sender.platform == CANVAS
    }
    destination = "Canvas: the assignment, Upload Submissions. There each page has the name of the notebook that came"
    return _write(assignment, path, names, "Canvas", destination)


def moodle_zip(assignment: Assignment, path: Path, worksheet: Mapping[str, Entry] | None = None) -> list[str]:
    """Write the feedback pages as a zip for Moodle; return lines on it.

    The names that the notebooks came by, or the `worksheet`, tell each student's number of participant.
    """
    course, lab = assignment.course, assignment.lab.name
    whose = {s: (sender.who, sender.number) for s, sender in came_as(course, lab).items() if sender.platform == MOODLE}
    for student in {path.parts[-3] for path in course.root.glob(f"feedback/*/{lab}/*.html")} if worksheet else ():
        number = entry_of(student, assignment.people, worksheet or {})
        if number is not None and worksheet is not None:
            whose[student] = worksheet[number].name.replace("_", " ").replace("/", " "), number
    names = {student: f"{name}_{number}_assignfeedback_file_{lab}.html" for student, (name, number) in whose.items()}
    return _write(assignment, path, names, "Moodle", "Moodle: View all submissions, Upload multiple feedback files")


def _write(assignment, path, names, platform, where):
    course, lab = assignment.course, assignment.lab.name
    pages = {page.parts[-3]: page for page in course.root.glob(f"feedback/*/{lab}/{lab}.html") if not page.is_symlink()}
    chosen = sorted(pages.keys() & names.keys())
    if not chosen:
        reason = "`feedback` writes them" if not pages else f"their notebooks were not imported from {platform}"
        raise ClassError(f"none of the pages of {lab} can go back to {platform}: {reason}.")
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in chosen:
            archive.writestr(names[student], pages[student].read_bytes())
    atomic.write(path, data.getvalue())
    lines = [f"{path}: {len(chosen)} pages. {where}."]
    others = sorted(pages.keys() - names.keys())
    if others:
        lines.append(f"{len(others)} did not come from {platform}, and can't go back there: {', '.join(others[:5])}.")
    return lines
