"""The notebook that is run: the lab's own, with the student's code in its place, in the student's order.

The code is the submission's: answers, added cells, edited given cells. The lab's source gives the given cells that the
submission has lost. Nothing else of a submission is used: no metadata, no outputs, no checks. An answer is found by its
grade id, then its cell id, then the marker comment in its first line, then by what it defines: editors rewrite ids,
split cells and drop metadata.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from grader.lab.source import MARKED, check_id
from grader.lab.spec import Lab
from grader.submission.read import plain_lines, read_submission

SHOWN = 50_000  # characters of a cell


@dataclass(frozen=True)
class Step:
    """One cell to run, and the `exercise` whose answer it belongs to, if any."""

    text: str
    exercise: str | None = None


@dataclass(frozen=True)
class Shown:
    """One cell as the student handed it in: for feedback and for a person's marks. It is text, never markup."""

    type: str
    text: str
    exercise: str | None = None
    given: bool = False
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rebuilt:
    """The `steps` to run, the `cells` to show; `answered`: exercise -> "changed", "as released" or "absent"."""

    steps: tuple[Step, ...]
    cells: tuple[Shown, ...]
    answered: dict

    def without(self, step: Step) -> "Rebuilt":
        """Return the notebook without that step, or without the whole answer that it belongs to."""
        rest = tuple(s for s in self.steps if s is not step and (s.exercise is None or s.exercise != step.exercise))
        return Rebuilt(rest, self.cells, self.answered)


def rebuild(lab: Lab, data: bytes) -> Rebuilt:
    """Return the `Rebuilt` of a submission's bytes for `lab`. Raises Unreadable or TooLarge, whose text says why."""
    placed = _placed(lab, read_submission(data))
    answered = {e.name: _answered(lab.source.cell(e.name), placed) for e in lab.exercises}
    shown = tuple(_shown(cell, place) for cell, place in placed)
    return Rebuilt(tuple(_steps(lab, placed, answered)), shown, answered)


def _placed(lab, cells):
    """Return each submitted cell with the lab's cell that it was, or None for one that was added."""
    by_id = {cell.id: cell for cell in lab.source.cells}
    answers = {cell.exercise: cell for cell in lab.source.exercises()}
    by_text = {_essence(cell.text): cell for cell in lab.source.cells if cell.type == "code" and _essence(cell.text)}
    defines = [(_definition(exercise.entry), answers[exercise.name]) for exercise in lab.exercises]

    def place(cell):
        known_cell = next((by_id[name] for name in cell.names if name in by_id), None)
        if known_cell is not None or cell.type != "code":
            return known_cell
        marked = MARKED.search(cell.text)
        if marked and marked[1] in answers:
            return answers[marked[1]]
        same = by_text.get(_essence(cell.text))
        return same or next((answer for pattern, answer in defines if pattern.search(cell.text)), None)

    return [(cell, place(cell)) for cell in cells]


def _steps(lab, placed, answered):
    """Yield what runs: the student's code cells in their order, lost given cells where they stood in the lab."""
    lost = _lost(lab, placed)
    own = [cell.text for cell, place in placed if cell.type == "code" and not _is_same(cell, place)]
    yield from [Step(text) for text in imports_needed(lab, own)]
    yield from lost.get(None, [])
    for cell, place in placed:
        if cell.type == "code" and cell.text.strip() and not _is_left_out(cell, place, answered):
            yield Step(cell.text, place.exercise if place is not None and place.role == "exercise" else None)
        if place is not None:
            yield from lost.pop(place.id, [])


def imports_needed(lab: Lab, texts: Iterable[str]) -> list[str]:
    """Return the import statements of `lab`'s notebook-only cells that bind a name which stands in one of `texts`.

    Such cells are not run when marks are made, but a picture's cell says `import torch` and an answer `torch.relu`.
    """
    written = set(re.findall(r"\w+", "\n".join(texts)))
    imported = [import_ for cell in lab.source.cells if cell.role == "notebook-only" for import_ in _imports(cell.text)]
    return list(dict.fromkeys(text for name, text in imported if name in written))


def _imports(text):
    """Yield (name, statement) for each name that the cell's top level imports."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a cell with magics
        return
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                kind = ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], 0)
                yield name, ast.unparse(kind)


def _is_left_out(cell, place, answered):
    if not _is_same(cell, place):
        return False
    if place.role == "exercise":
        # a copy of the stub that was left behind must not undo the answer
        return answered[place.exercise] == "changed"
    return place.role in ("check", "notebook-only")


def _lost(lab, placed):
    """Return the given cells that are not there any more: id of the lab's cell they follow -> steps."""
    with_code = {p.id for c, p in placed if p is not None and c.type == "code" and c.text.strip()}
    placed_ids = {p.id for _, p in placed if p is not None}
    lost, before = {}, None
    for cell in lab.source.cells:
        if cell.role == "given" and cell.id not in with_code:
            lost.setdefault(before, []).append(Step(cell.text))
        if cell.id in placed_ids:
            before = cell.id
    return lost


def _answered(release, placed):
    mine = [c for c, place in placed if place is release and c.type == release.type and c.text.strip()]
    if not mine:
        return "absent"
    return "as released" if all(_is_same(cell, release) for cell in mine) else "changed"


def _shown(cell, place):
    role, exercise = (place.role, place.exercise) if place is not None else (None, None)
    if role not in ("exercise", "check") or (role == "check" and check_id(exercise) not in cell.names):
        exercise = None
    is_labs_own = role != "exercise" and _is_same(cell, place)
    text = cell.text if len(cell.text) <= SHOWN else f"{cell.text[:SHOWN]}\n… {len(cell.text)} characters in all"
    return Shown(cell.type, text, exercise, is_labs_own, cell.pictures)


def _is_same(cell, place):
    return place is not None and _essence(cell.text) == _essence(place.text)


def _essence(text):
    # comments, blank lines and line ends are not compared
    return "\n".join(line for line in plain_lines(text).split("\n") if line and not line.lstrip().startswith("#"))


def _definition(entry):
    # by pattern: a student's text is not parsed here
    name = re.escape(entry)
    return re.compile(
        rf"^(?:(?:async[ \t]+)?def[ \t]+{name}\b|class[ \t]+{name}\b|{name}[ \t]*(?::[^=\n]+)?=[^=])", re.M
    )
