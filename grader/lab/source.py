"""`lab.py`, the one text of a lab: read here into cells, each with its role.

Percent format (jupytext). An exercise is a code cell tagged `exercise:NAME` and `points:3`; its solution stands between
`### BEGIN SOLUTION` and `### END SOLUTION` and becomes a stub in the release. The cell `check(NAME)` comes after it. A
code cell tagged `notebook-only` (pictures, timings, files of the reader's own) is not run when marks are made.
"""

import hashlib
import itertools
import re
from dataclasses import dataclass, replace
from pathlib import Path

from course.checks.discovery import load_part
from grader.lab.spec import Lab

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
#: The first line of every exercise's cell: an editor that rewrites ids and metadata keeps it.
MARKER = "# exercise: {}"
MARKED = re.compile(r"^[ \t]*#+[ \t]*exercise:[ \t]*([a-z][a-z0-9_]*)[ \t]*\r?$", re.M)
_SOLUTION = re.compile(rf"^(?P<indent>[ \t]*){BEGIN}[ \t]*\n(?P<lines>(?:.*\n)*?)[ \t]*{END}[ \t]*(?P<end>\n|\Z)", re.M)
_CHECK = re.compile(r"^check\((?:\w+|.*[\"'](?P<named>\w+)[\"'])\)\s*$", re.M)


class LabError(Exception):
    """A lab that can't be used as it stands: the text names the lab, the cell or exercise, and what to change."""


@dataclass(frozen=True)
class Cell:
    """One cell. `role` is "text", "given", "notebook-only", "exercise" or "check"; the last two name an `exercise`.

    `text` is as in the release (an exercise's has the marker and the stub); `solution` is an exercise's with its
    solution, else the same. `id` is the notebook's cell id.
    """

    role: str
    text: str
    id: str
    solution: str = ""
    exercise: str | None = None
    points: float = 0.0
    type: str = "code"


@dataclass(frozen=True)
class Source:
    """A lab as read: its `name` and its `cells`, in order."""

    name: str
    cells: tuple[Cell, ...]

    def exercises(self) -> list[Cell]:
        """Return the exercises' cells, in order."""
        return [cell for cell in self.cells if cell.role == "exercise"]

    def cell(self, exercise: str) -> Cell:
        """Return the cell of the exercise so called."""
        return next(cell for cell in self.exercises() if cell.exercise == exercise)


def check_id(exercise: str) -> str:
    """Return the grade id of the cell that carries the exercise's points: nbgrader wants it to differ from NAME."""
    return f"check_{exercise}"


def load_lab(folder: str | Path, source: Source | None = None) -> Lab:
    """Return the `Lab` in `folder` (`lab.py` and `marking.py`), its points and source filled in. Runs `marking.py`.

    `source`: as `read_source` gives it, where another process has read it already: reading it imports jupytext.
    Raises LabError where the two disagree or one is missing.
    """
    folder = Path(folder).resolve()
    source = source or read_source(folder)
    lab = _with_wrong(_run(folder, "marking", "LAB"), folder)
    problem = _disagreement(lab, source, folder)
    if problem:
        raise LabError(f"{folder.name}: {problem}")
    points = {cell.exercise: cell.points for cell in source.exercises()}
    exercises = tuple(replace(e, points=points[e.name]) for e in lab.exercises)
    return replace(lab, exercises=exercises, folder=folder, source=source)


def read_source(folder: str | Path) -> Source:
    """Return the `Source` in `folder`/lab.py. Raises LabError that names the cell and what is wrong with it."""
    folder = Path(folder)
    path = folder / "lab.py"
    if not path.is_file():
        raise LabError(f"{folder} is not a lab: it has no lab.py. Labs are folders such as labs/lab03_game_of_life.")
    import jupytext  # a quarter of a second: a process that is handed the source does without

    notebook = jupytext.read(path, fmt="py:percent")
    ids: set[str] = set()
    cells = tuple(_read_cell(cell, ids) for cell in notebook.cells if cell.source.strip())
    _refuse_lonely(folder.name, cells)
    return Source(folder.name, cells)


def solved(text: str, solution: str) -> str:
    """Return an exercise's cell with `solution`, source text, in the place of all its code; the marker stays."""
    return f"{text.splitlines()[0]}\n{solution.strip(chr(10))}\n"


def _read_cell(cell, ids):
    tags = dict(tag.partition(":")[::2] for tag in cell.metadata.get("tags", []))
    name = tags.get("exercise")
    if name is not None:
        return _read_exercise(cell, name, tags.get("points"), ids)
    check_call = _CHECK.search(cell.source) if cell.cell_type == "code" else None
    if check_call:
        name = check_call["named"] or re.search(r"check\((\w+)\)", cell.source)[1]
        return Cell("check", cell.source, _unique(check_id(name), ids), cell.source, name)
    role = "text" if cell.cell_type != "code" else "notebook-only" if "notebook-only" in tags else "given"
    return Cell(role, cell.source, _from_text(cell, ids), cell.source, type=cell.cell_type)


def _read_exercise(cell, name, points, ids):
    try:
        worth = float(points)
    except (TypeError, ValueError):
        raise LabError(f"exercise:{name} needs a tag such as points:3; its points are {points!r}.") from None
    if cell.cell_type != "code":
        return Cell("exercise", cell.source, _unique(name, ids), cell.source, name, worth, cell.cell_type)
    marker = MARKER.format(name) + "\n"
    released, solution = split_solution(cell.source, name)
    return Cell("exercise", marker + released, _unique(name, ids), marker + solution, name, worth)


def split_solution(text: str, name: str) -> tuple[str, str]:
    """Return (release text with a stub for each solution, text with the solutions and without their markers)."""
    stubbed = _SOLUTION.sub(lambda match: _stub(match, name), text)
    if stubbed == text or re.search(rf"^\s*{BEGIN}\s*$", stubbed, re.M):
        raise LabError(f"exercise:{name}: its solution must stand between {BEGIN!r} and {END!r}, once or more.")
    return stubbed, _SOLUTION.sub(r"\g<lines>", text).removesuffix("\n")


def _stub(match, name):
    lines, stub = match["lines"], "...  # your code"
    if not match["indent"] and re.search(rf"^{name}\s*=", lines, re.M):
        stub = f"{name} = ...  # your answer"
    elif re.search(r"^\s*return", lines, re.M):
        stub = f"return {stub}"
    return match["indent"] + stub + match["end"]


def _unique(id, ids):
    if id in ids:
        raise LabError(f"two cells are called {id!r}: an exercise, and its check, stand once in a lab.")
    ids.add(id)
    return id


def _from_text(cell, ids):
    # an id must not move when another cell changes, so it comes from the text; a repeated text gets a count
    for count in itertools.count():
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}\n{count}".encode()).hexdigest()[:12]
        if digest not in ids:
            return _unique(digest, ids)


def _refuse_lonely(name, cells):
    waiting = None
    for cell in cells:
        if cell.role == "check" and cell.exercise != waiting:
            raise LabError(f"{name}: check({cell.exercise}) does not follow its exercise.")
        if cell.exercise is not None:
            waiting = cell.exercise if cell.role == "exercise" else None


def _run(folder, stem, name):
    path = folder / f"{stem}.py"
    if not path.is_file():
        raise LabError(f"{folder} has no {path.name}: it is the teacher's half of a lab, beside lab.py.")
    module = load_part(folder, stem)
    if not hasattr(module, name):
        raise LabError(f"{path} defines no {name}.")
    return getattr(module, name)


def _with_wrong(lab, folder):
    """Return `lab` with the wrong answers and slow specifications of `wrong.py`, where there is one."""
    if not (folder / "wrong.py").is_file():
        return lab
    wrong, slow = _run(folder, "wrong", "WRONG"), _run(folder, "wrong", "SPECIFICATION")
    unknown = {*wrong, *slow} - {exercise.name for exercise in lab.exercises}
    if unknown:
        raise LabError(f"{folder.name}: wrong.py names the exercises {', '.join(sorted(unknown))}, unknown to the lab.")

    def filled(e):
        return replace(e, wrong=wrong.get(e.name, e.wrong), specification=slow.get(e.name, e.specification))

    return replace(lab, exercises=tuple(map(filled, lab.exercises)))


def _disagreement(lab, source, folder):
    marked, read = [e.name for e in lab.exercises], [cell.exercise for cell in source.exercises()]
    if lab.name != folder.name:
        return f"marking.py calls the lab {lab.name!r}; the folder's name decides."
    if marked != read:
        return f"marking.py has the exercises {', '.join(marked)}; lab.py has {', '.join(read)}."
    checked = {cell.exercise for cell in source.cells if cell.role == "check"}
    for exercise in lab.exercises:
        if not exercise.manual and exercise.name not in checked:
            return f"exercise {exercise.name} has no cell check({exercise.name}) after it."
        if exercise.points not in (None, source.cell(exercise.name).points):
            return f"exercise {exercise.name} has {exercise.points} points in marking.py, other points in its tag."
    missing = [name for name in lab.files if not (folder / name).is_file()]
    return f"the files {', '.join(missing)} are not in the folder." if missing else None
