"""The notebook that nbgrader's formgrader shows to people who mark by hand: the submission, in a safe form.

Formgrader turns `autograded/STUDENT/LAB/LAB.ipynb` into a page of its own site with nbconvert, which keeps `<script>`
and `onerror` in markdown, HTML and SVG, and typesets mathematics, whose links may run scripts: on that page they could
change marks. So a new notebook is made, with new ids and nbgrader's metadata
from the lab; text cells hold the student's text as a block of verbatim text, outputs are pictures as PNG made anew, and
below each answer stands the mark's reason.
"""

import re
from datetime import UTC

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from grader.classroom import atomic
from grader.classroom.folders import CourseFolder, refuse_links
from grader.lab.release import KERNEL, nbgrader_metadata
from grader.lab.spec import Lab
from grader.marking.mark import Marks
from grader.marking.plain_text import plain
from grader.runs.grade import Graded
from grader.runs.results import read_result
from grader.submission.pictures import NotAPicture, clean_png

METADATA = {**KERNEL, "language_info": {"name": "python", "pygments_lexer": "ipython3"}}


def write_autograded(course: CourseFolder, lab: Lab, student_marks: Graded) -> None:
    """Write the notebook that formgrader shows of one student's marks, in safe form; none where nothing was read.

    `autograded/STUDENT/LAB/LAB.ipynb` is left alone where it is of the same result already.
    """
    path = course.autograded(student_marks.student, lab.name)
    refuse_links(path)
    result = read_result(course, lab.name, student_marks.student, student_marks.sha)
    if result is None:
        path.unlink(missing_ok=True)
        return
    _write_timestamp(course.submitted(student_marks.student, lab.name), student_marks.arrived)
    stamp = {"sha": result.sha, "at": result.at.isoformat()}
    if ((atomic.read_json(path) or {}).get("metadata") or {}).get("course") == stamp:
        return
    notebook = safe_notebook(lab, result.marks)
    notebook.metadata["course"] = stamp
    atomic.write(path, nbformat.writes(notebook, version=4) + "\n")


def safe_notebook(lab: Lab, marks: Marks) -> nbformat.NotebookNode:
    """Return the notebook of `marks` for `lab`, as `load_lab` gives it, fit for formgrader.

    Each exercise's two cells, answer and check, are there once, with nbgrader's metadata, whatever the student did to
    them: formgrader hangs scores and comments on these.
    """
    cells, placed = [], set()
    for number, shown in enumerate(marks.cells, start=1):
        exercise = shown["exercise"]
        if shown["given"] and exercise is not None:
            continue  # the lab's own check: it stands below the answer
        answer = exercise is not None and exercise not in placed
        metadata = nbgrader_metadata(lab.source.cell(exercise), lab) if answer else None
        cells.append(_as_handed_in(shown, number, metadata))
        if answer:
            placed.add(exercise)
            cells += _check(lab, marks, exercise)
    for number, exercise in enumerate(lab.exercises, start=len(marks.cells) + 1):
        if exercise.name not in placed:
            placeholder = {"type": "code", "text": "# not in this notebook", "pictures": ()}
            cells.append(_as_handed_in(placeholder, number, nbgrader_metadata(lab.source.cell(exercise.name), lab)))
            cells += _check(lab, marks, exercise.name)
    notebook = new_notebook(cells=cells, metadata=METADATA)
    nbformat.validate(notebook)
    return notebook


def verbatim(text: str) -> str:
    """Return markdown that shows `text` as it is: a fenced block that nothing in it can end.

    In a block of code neither HTML, nor links, nor mathematics come alive, there or in the page made of it.
    """
    text = plain(text)
    # the named language keeps a block from being drawn, as those called mermaid are
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _as_handed_in(shown, number, nbgrader):
    metadata = {"nbgrader": nbgrader} if nbgrader else {}
    if shown["type"] == "code":
        outputs = [_picture(picture, n) for n, picture in enumerate(shown["pictures"], start=1)]
        return new_code_cell(plain(shown["text"]), id=f"handed-in-{number}", metadata=metadata, outputs=outputs)
    return new_markdown_cell(verbatim(shown["text"]), id=f"handed-in-{number}", metadata=metadata)


def _picture(picture, number):
    try:
        return new_output("display_data", {"image/png": clean_png(picture), "text/plain": f"picture {number}"})
    except NotAPicture as problem:
        return _words(f"A picture is not shown: {problem}.")


def _check(lab, marks, exercise):
    """Return the cell that carries the exercise's points and says why, in a list; none where a person marks it."""
    if lab.exercise(exercise).manual:
        return []
    cell = next(cell for cell in lab.source.cells if cell.role == "check" and cell.exercise == exercise)
    metadata, mark = {"nbgrader": nbgrader_metadata(cell, lab)}, marks.exercise(exercise)
    summary = f"{mark.state}, {mark.score:g} of {mark.max_score:g}\n{plain(mark.reason)}\n"
    return [new_code_cell(f"check({exercise})", id=f"check-{exercise}", metadata=metadata, outputs=[_words(summary)])]


def _words(text):
    return new_output("stream", name="stdout", text=plain(text))


def _write_timestamp(folder, arrived):
    """Leave nbgrader's note of when it arrived: where it differs from the gradebook's, formgrader says "not graded".

    It is written for nbgrader and never read here: a student could have handed in one of their own.
    """
    if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
        return
    text = f"{arrived.astimezone(UTC).replace(tzinfo=None)} UTC"
    path = folder / "timestamp.txt"
    if path.is_symlink() or not path.is_file() or path.read_bytes()[:100] != text.encode():
        atomic.write(path, text)
