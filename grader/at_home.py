"""`python -m course check LAB.ipynb`: marks a learner's own lab at home, as the class would.

With the lab's sources (a checkout has those of the course) it marks in full, on freshly drawn inputs. Without them it
runs the notebook's own checks from the top, in a fresh process, and gives each exercise all points or none.
"""

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from grader.classroom.folders import CHECKOUT_LABS
from grader.lab.source import LabError, load_lab
from grader.marking.mark import mark_submission
from grader.marking.plain_text import plain
from grader.sandbox import SandboxUnavailable
from grader.sandbox.unsafe import UnsafeSandbox
from grader.submission.read import LIMIT, TooLarge, Unreadable, read_submission

SECONDS = 600  # for a whole notebook and its checks
SIGNS = {"right": "✓", "partly": "◐", "wrong": "✕", "missing": "…"}


@dataclass(frozen=True)
class Line:
    """One exercise: `kind` is a key of `SIGNS`; `points` are None where the notebook has lost them."""

    exercise: str
    kind: str
    score: float
    points: float | None
    reason: str = ""


def report(notebook: Path | str, lab: Path | str | None = None, tell: Callable[[str], object] = print) -> int:
    """Mark the notebook at that path and `tell` line by line; return the exit status: 0 when all is right, else 1.

    `lab`: the folder of the lab's sources, looked for if not given. Raises LabError for a folder that is no lab,
    Unreadable or TooLarge for a notebook that can't be read, OSError for none.
    """
    notebook = Path(notebook)
    data = _read(notebook)
    folder = Path(lab) if lab is not None else find_sources(notebook, data)
    if folder is not None:
        lines, how = _marked(load_lab(folder), data)
    else:
        lines, how = by_its_checks(notebook, data), "By the notebook's own checks; its lab's sources are not here."
    for line in _table(lines):
        tell(line)
    tell(f"{_total(lines)} {how}")
    return 0 if lines and all(line.kind == "right" for line in lines) else 1


def command(notebook: str, lab: str | None) -> None:
    """Run `python -m course check`, the entry point of that name: print the report and exit with its status.

    Raises click.ClickException with a sentence for what can't be read or is no lab.
    """
    try:
        raise SystemExit(report(notebook, lab, click.echo))
    except (Unreadable, TooLarge) as error:
        raise click.ClickException(f"{notebook}: {error}") from error
    except (LabError, OSError) as error:
        raise click.ClickException(str(error)) from error


def find_sources(notebook: Path, data: bytes) -> Path | None:
    """Return the folder of the lab's sources for the notebook at that path and of these bytes, or None.

    It is the notebook's own folder or, by the lab's name, one of the checkout's.
    """
    if (notebook.parent / "lab.py").is_file() and (notebook.parent / "marking.py").is_file():
        return notebook.parent
    lab_named = _object_in(_object_in(json.loads(data), "metadata"), "course").get("lab")
    for name in (lab_named, re.sub(r"[ (-].*", "", notebook.stem)):
        if isinstance(name, str) and re.fullmatch(r"\w+", name) and (CHECKOUT_LABS / name / "marking.py").is_file():
            return CHECKOUT_LABS / name
    return None


def _read(notebook):
    if notebook.stat().st_size > LIMIT:
        raise TooLarge(f"it has {notebook.stat().st_size / 1e6:.0f} MB; {LIMIT / 1e6:.0f} MB is the most that is read.")
    data = notebook.read_bytes()
    read_submission(data)
    return data


def _marked(lab, data):
    secret = secrets.token_bytes(32)
    try:
        marks, where = mark_submission(lab, data, secret), "in a sandbox"
    except SandboxUnavailable:
        # the learner's own code on their own machine: a notebook runs it just so
        marks, where = mark_submission(lab, data, secret, UnsafeSandbox), "without a sandbox"
    lines = [Line(mark.name, _kind(mark), mark.score, mark.max_score, mark.reason) for mark in marks.exercises]
    return lines, f"Marked {where}, on inputs drawn now; your class draws others."


def _kind(mark):
    if mark.manual or mark.state in ("missing", "grader_failed"):
        return "missing"
    return "right" if mark.score >= mark.max_score else "partly" if mark.score else "wrong"


def by_its_checks(notebook: Path, data: bytes) -> list[Line]:
    """Return a `Line` for each exercise, from the notebook's own checks in a process of its own.

    `notebook`: its path, in whose folder the process runs; `data`: its bytes, which need not be those at the path.
    """
    # the other process imports the course from where this one does
    path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as place:
        answers = Path(place, "verdicts")
        with contextlib.suppress(subprocess.TimeoutExpired):  # the verdicts until then are in the file
            subprocess.run(
                [sys.executable, "-m", "grader.at_home_checks", str(answers)],
                input=json.dumps(_cells(data)),
                encoding="utf-8",
                timeout=SECONDS,
                cwd=notebook.parent,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": path},
            )
        verdicts = answers.read_text(encoding="utf-8").splitlines() if answers.exists() else []
    # an exercise's last line counts: its first one says that it was not reached
    return list({line.exercise: line for line in (Line(*json.loads(text)) for text in verdicts)}.values())


def _cells(data):
    """Return the notebook's code as [text, points of its check or None], without cells that only show something."""
    cells = []
    for cell in json.loads(data).get("cells", []):  # `read_submission` has seen that they are a list of objects
        metadata = _object_in(cell, "metadata")
        tags, points = metadata.get("tags"), _object_in(metadata, "nbgrader").get("points")
        if cell.get("cell_type") == "code" and "notebook-only" not in (tags if isinstance(tags, list) else []):
            text = cell.get("source", "")
            text = text if isinstance(text, str) else "".join(text)
            cells.append([text, points if isinstance(points, (int, float)) else None])
    return cells


def _object_in(holder, name):
    return holder[name] if isinstance(holder.get(name), dict) else {}


def _table(lines):
    width = max((len(line.exercise) for line in lines), default=0)
    for line in lines:
        points = "" if line.points is None else f"  {line.score:g} / {line.points:g}"
        yield f"{SIGNS[line.kind]} {line.exercise:{width}}{points}"
        if line.reason and line.kind != "right":
            yield from (f"    {part}" for part in plain(line.reason).splitlines())


def _total(lines):
    if not lines:
        return "No exercise was found in this notebook."
    if any(line.points is None for line in lines):
        return f"{sum(line.kind == 'right' for line in lines)} of {len(lines)} exercises right."
    return f"{sum(line.score for line in lines):g} of {sum(line.points for line in lines):g} points."
