"""Feedback: one page of HTML for a student, with their cells as text, each exercise's mark and its counterexample.

Everything on the page that comes from a submission, or from anybody's name, is escaped text; pictures are PNG made anew
(`pictures.py`). There is no script on it, and the page forbids its browser to run one or to fetch anything. Nothing of
the solution is on it but what a counterexample says: the value that was expected.
"""

import base64
import hashlib
from collections.abc import Collection, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.folders import not_a_student, refuse_links
from grader.marking.mark import Marks
from grader.marking.plain_text import CELL, plain
from grader.marking.why_this_mark import ExerciseMark
from grader.reports.gradebook import Manual, read_gradebook
from grader.runs.assignment import Assignment
from grader.runs.grade import standing
from grader.runs.results import read_result
from grader.submission.pictures import NotAPicture, clean_png

PAGE = 400_000  # characters of all cells
LOG = 4000  # characters, the end of what was printed
PICTURES = 40

#: state -> (sign, words); "graded" is said by the score.
WORDS = {
    "missing": ("–", "not answered"),
    "crashed": ("✕", "did not run"),
    "timed_out": ("✕", "did not come to an end"),
    "unreadable": ("✕", "the notebook could not be read"),
    "refused": ("✕", "the notebook was not read"),
    "unplaced": ("…", "no mark yet: it is not clear which notebook is yours, ask your teacher"),
    "grader_failed": ("…", "no mark yet: our side failed, it will be marked again"),
}


def write_feedback(assignment: Assignment, students: Collection[str] = ()) -> tuple[list[Path], list[str]]:
    """Write the pages, of these `students` or all; return their paths, and the students who aren't marked yet."""
    course, lab = assignment.course, assignment.lab
    graded, waiting = standing(assignment)
    book = read_gradebook(course, lab)
    written = []
    for student_marks in graded:
        if (students and student_marks.student not in students) or not_a_student(student_marks.student):
            continue
        if all(row.state in ("missing", "unplaced") for row in student_marks.rows) and not student_marks.sha:
            continue  # who handed in nothing gets no page
        path = course.feedback(student_marks.student, lab.name)
        refuse_links(path)
        notes = [f"Handed in late: {student_marks.cost:.0%} of the score is taken off."] if student_marks.cost else []
        page = feedback_page(
            _marks(course, lab, student_marks), student_marks.student, book.get(student_marks.student), notes
        )
        atomic.write(path, page)
        written.append(path)
    return written, [student for student in waiting if not students or student in students]


def feedback_page(
    marks: Marks, student: str, remarks: Mapping[str, Manual] | None = None, notes: Sequence[str] = ()
) -> str:
    """Return the page, HTML text, for `marks` (`mark.Marks`) of `student` (a name).

    `remarks`: exercise -> what a person entered, as `read_gradebook` gives it. `notes`: lines above the table, such as
    a penalty's.
    """
    remarks = remarks or {}
    scores = {mark.name: _score(mark, remarks.get(mark.name, Manual())) for mark in marks.exercises}
    body = [
        f"<header><p>{_line(student)}</p><h1>{_line(marks.lab)}</h1>{_total(marks, scores.values())}</header><main>",
        *(f'<p class="note">{_line(note)}</p>' for note in notes),
        '<section aria-label="Marks">',
        *(_exercise(mark, scores[mark.name], remarks.get(mark.name, Manual()), marks) for mark in marks.exercises),
        "</section>",
        *_cells(marks, scores),
        _log(marks.log),
        "</main>",
    ]
    return f"{_head(marks.lab, student)}<body>{''.join(body)}</body></html>\n"


def _head(lab, student):
    style = (files("grader.reports") / "feedback.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # a meta policy is the only one that a file, opened from a disk or a download, can have
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{_line(f'{lab}, {student}')}</title><style>{style}</style></head>"
    )


def _total(marks, scores):
    most = sum(mark.max_score for mark in marks.exercises)
    waiting = sum(score is None for score in scores)
    later = f'<p class="note">{waiting} not marked yet.</p>' if waiting else ""
    got = sum(score for score in scores if score is not None)
    return f'<p class="total"><b>{got:g}</b> of {most:g} points</p>{later}'


def _score(mark, remark):
    """Return the exercise's points, or None where there is no mark yet."""
    if remark.score is not None:
        return remark.score
    unmarked = mark.state in ("grader_failed", "unplaced") or (mark.manual and mark.state == "graded")
    return None if unmarked else mark.score


def _exercise(mark, score, remark, marks):
    kind, sign, words = _state_of(mark, score)
    is_on_page = any(cell["exercise"] == mark.name and not cell["given"] for cell in marks.cells)
    name = _line(mark.name)
    name = f'<a href="#{name}">{name}</a>' if is_on_page else name
    right = mark.state == "graded" and score == mark.max_score
    shows_reason = mark.reason and not right and remark.score is None
    reason = f"<pre>{_text(mark.reason)}</pre>" if shows_reason else ""
    comment = f'<div class="comment"><p>From your teacher</p><pre>{_text(remark.comment)}</pre></div>'
    return (
        f'<article class="{kind}"><h2>{name} <span class="score">{_points(score)} / {mark.max_score:g}</span></h2>'
        f'<p class="state"><span aria-hidden="true">{sign}</span> {words}</p>{reason}'
        f"{comment if remark.comment else ''}</article>"
    )


def _points(score):
    return "–" if score is None else f"{score:g}"


def _state_of(mark, score):
    if score is None and mark.manual and mark.state == "graded":
        return "waits", "…", "a person marks this one"
    if mark.state != "graded" and not score:
        return ("waits" if score is None else "lost", *WORDS.get(mark.state, ("✕", _line(mark.state))))
    if score >= mark.max_score:
        return "right", "✓", "right"
    return ("partly", "◐", "partly right") if score > 0 else ("lost", "✕", "not right")


def _cells(marks, scores):
    """Yield the cells that the student wrote or changed; the first of each exercise carries its mark."""
    characters, pictures, anchored = PAGE, PICTURES, set()
    own = [(number, cell) for number, cell in enumerate(marks.cells, start=1) if _is_shown(cell)]
    if own:
        yield "<h2>Your notebook, as handed in</h2><p class='note'>The text of the lab's own cells is left out.</p>"
    for number, cell in own:
        text = (
            ""
            if cell["given"]
            else plain(cell["text"], min(characters, CELL))
            if characters > 0
            else "… (the page is full)"
        )
        characters -= len(text)
        head, anchor = f"cell {number}" + (", the lab's own" if cell["given"] else ""), ""
        if cell["exercise"] in scores and cell["exercise"] not in anchored:
            mark = marks.exercise(cell["exercise"])
            anchored.add(mark.name)
            anchor = f' id="{_line(mark.name)}"'
            head += f" · {_line(mark.name)}, {_points(scores[mark.name])} of {mark.max_score:g}"
        shown, pictures = _pictures(cell["pictures"], number, pictures)
        kind = "code" if cell["type"] == "code" else "prose"
        pre = f'<pre class="{kind}" tabindex="0">{escape(text)}</pre>' if text else ""
        yield f'<section class="cell"{anchor}><p>{head}</p>{pre}{shown}</section>'


def _is_shown(cell):
    return bool(cell["pictures"]) or (not cell["given"] and bool(cell["text"].strip()))


def _pictures(encoded, number, allowed):
    """Return the pictures as HTML, and how many more the page takes."""
    images = []
    for position, picture in enumerate(encoded, start=1):
        words = f"picture {position} of cell {number}"
        if allowed <= 0:
            images.append(f'<p class="note">{words} is left out: the page has {PICTURES}.</p>')
            break
        try:
            images.append(f'<img alt="{words}" src="data:image/png;base64,{clean_png(picture)}">')
            allowed -= 1
        except NotAPicture as problem:
            images.append(f'<p class="note">{words} is not shown: {escape(str(problem))}.</p>')
    return "".join(images), allowed


def _log(log):
    if not log.strip():
        return ""
    text = log if len(log) <= LOG else "… " + log[-LOG:]
    return (
        "<details><summary>What your notebook printed while it was marked</summary>"
        f'<pre class="code" tabindex="0">{_text(text)}</pre></details>'
    )


def _text(text):
    return escape(plain(text))


def _line(text):
    return escape(plain(str(text).replace("\n", " "), 200))


def _marks(course, lab, student_marks):
    """Return the marks as the class file has them: the rows' scores and reasons, with the cells of the result."""
    result = read_result(course, lab.name, student_marks.student, student_marks.sha)
    marks = tuple(
        ExerciseMark(r.exercise, r.state, r.score, r.max_score, r.reason, manual=lab.exercise(r.exercise).manual)
        for r in student_marks.rows
    )
    return Marks(lab.name, marks, result.marks.cells if result else (), result.marks.log if result else "")
