"""What a lab's solutions define, and what its marks say of other answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.lab.release import notebook_with, text_of
from grader.lab.source import read_source
from grader.lab.source import solved as in_its_cell
from grader.lab.spec import Lab
from grader.marking.mark import mark_submission
from grader.marking.why_this_mark import ExerciseMark
from grader.sandbox.unsafe import UnsafeSandbox


def solved(lab: Path, changed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run the given cells and the solutions of the lab in this folder; return what they define.

    `changed`: text in them -> the text that takes its place.
    """
    names: dict[str, Any] = {}
    for cell in read_source(lab).cells:
        if cell.role in ("given", "exercise"):
            text = cell.solution
            for old, new in (changed or {}).items():
                text = text.replace(old, new)
            exec(compile(text, "<cell>", "exec"), names)
    return names


def marks_of(lab: Lab, answers: Mapping[str, str], before: str = "") -> dict[str, ExerciseMark]:
    """Return exercise -> mark of the release with these answers, marked without a sandbox.

    `before`: code in front of the first exercise's answer.
    """
    texts = {name: in_its_cell(lab.source.cell(name).text, text) for name, text in answers.items()}
    first = lab.exercises[0].name
    texts[first] = before + texts.get(first, lab.source.cell(first).text)
    marks = mark_submission(lab, text_of(notebook_with(lab, texts)).encode(), b"s" * 32, UnsafeSandbox)
    return {mark.name: mark for mark in marks.exercises}


def points_lost(lab: Lab, answers: Mapping[str, str]) -> dict[str, str]:
    """Return exercise -> reason of those `answers` that do not get all points."""
    marks = marks_of(lab, answers)
    return {name: marks[name].reason for name in answers if marks[name].score < marks[name].max_score}
