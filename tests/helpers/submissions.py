"""A submission made from a release notebook by a small function, and the mark that honest reading gives it."""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from grader.lab.source import load_lab

LABS = Path(__file__).resolve().parents[2] / "labs"
LIFE = "lab03_game_of_life"


@dataclass(frozen=True)
class Submission:
    """One notebook handed in, and what it must get.

    - `build(notebook, host)`: changes the `Notebook`, or returns bytes. `host` is a `host_watch.Decoys`: what an
      attacker would like to reach; None for honest work.
    - `gets`: exercise -> points; for those not named, `else_gets`: 0 for "nothing", all points for "full".
    - `states`: exercise -> state; "*" stands for all others.
    - `races`: whether answers are timed, too. `slow`: it takes more than some seconds of processor time.
    """

    name: str
    build: Callable
    lab: str = LIFE
    gets: Mapping[str, float] = field(default_factory=dict)
    else_gets: str = "nothing"
    states: Mapping[str, str] = field(default_factory=dict)
    races: bool = False
    slow: bool = False
    seconds: float | None = None

    def wanted(self, lab):
        """Return exercise -> points that this submission must get."""
        full = self.else_gets == "full"
        return {e.name: self.gets.get(e.name, e.points if full and not e.manual else 0) for e in lab.exercises}

    def bytes(self, host=None):
        """Return the notebook as it is handed in."""
        notebook = Notebook(lab_called(self.lab))
        made = self.build(notebook, host)
        return made if isinstance(made, bytes) else notebook.bytes()

    def lab_for(self):
        """Return the lab that it is marked by: without its races where they are not the point, they take seconds."""
        lab = lab_called(self.lab)
        if self.seconds is not None:
            lab = replace(lab, seconds=self.seconds)
        if self.races:
            return lab
        calm = [_without_race(e) if e.race else e for e in lab.exercises]
        return replace(lab, exercises=tuple(calm))


def _without_race(exercise):
    # its first question is asked all the same
    return replace(exercise, race=None, statement=replace(exercise.statement, cases=exercise.cases))


def attack(name, **told):
    """Turn a function into a `Submission` that deserves nothing, or only what `gets` says."""
    return lambda build: Submission(name, build, **told)


def honest(name, **told):
    """Turn a function into a `Submission` that deserves everything, or what `gets` says."""
    return lambda build: Submission(name, lambda notebook, host: build(notebook.solve()), else_gets="full", **told)


def cheat(name, answer, cell, before="next_generation", **told):
    """Return the attack that answers every exercise with `answer`, and defines what that calls in a `cell` above.

    `cell`: text, or a function of the notebook and the host that gives it.
    """

    def build(notebook, host):
        text = cell if isinstance(cell, str) else cell(notebook, host)
        notebook.answer_all(answer).add(text.strip("\n"), before=notebook.place(before))

    return Submission(name, build, **told)


def of_modules(*modules):
    """Return the `Submission`s that stand in `modules`, singly or in lists, in order."""
    found = []
    for module in modules:
        for value in vars(module).values():
            found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Submission)]
    return found


@lru_cache(maxsize=8)
def lab_called(name):
    """Return the lab, loaded once."""
    return load_lab(LABS / name)


class Notebook:
    """A copy of a lab's release notebook, as JSON, and what people do to one. Each method returns the notebook."""

    def __init__(self, lab):
        text = (LABS / lab.name / f"{lab.name}.ipynb").read_text(encoding="utf-8")
        self.json = json.loads(text)
        self.lab = lab

    @property
    def cells(self):
        return self.json["cells"]

    def bytes(self):
        return json.dumps(self.json).encode()

    def place(self, name):
        """Return the position of the exercise's cell."""
        return next(n for n, cell in enumerate(self.cells) if cell.get("id") == name)

    def cell(self, name):
        return self.cells[self.place(name)]

    def answer(self, name, text):
        """Write `text` below the marker of the exercise's cell."""
        self.cell(name)["source"] = f"# exercise: {name}\n{text}"
        return self

    def change(self, name, *pairs):
        """Replace (old, new) texts in the exercise's cell; each old one must stand there."""
        for old, new in pairs:
            text = source_of(self.cell(name))
            assert old in text, f"{old!r} does not stand in {name}"
            self.cell(name)["source"] = text.replace(old, new)
        return self

    def solve(self, *names):
        """Write the lab's solutions, all or those of `names`."""
        for cell in self.lab.source.exercises():
            if not names or cell.exercise in names:
                self.cell(cell.exercise)["source"] = cell.solution
        return self

    def add(self, text, before=0, **more):
        """Add a code cell before that position."""
        made = {"cell_type": "code", "id": "", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
        self.cells.insert(before, {**made, "id": f"added-{len(self.cells)}", **more})
        return self

    def add_text(self, text, before=0):
        self.cells.insert(before, {"cell_type": "markdown", "id": f"note-{len(self.cells)}", "metadata": {}})
        self.cells[before]["source"] = text
        return self

    def at_end(self, text):
        return self.add(text, before=len(self.cells))

    def answer_all(self, text):
        """Answer every exercise with `text`, in which NAME stands for the exercise."""
        for exercise in self.lab.exercises:
            self.answer(exercise.name, text.replace("NAME", exercise.name))
        return self

    def drop(self, which):
        """Remove the cells of which `which(cell)` is true."""
        self.json["cells"] = [cell for cell in self.cells if not which(cell)]
        return self

    def each(self, change):
        """Call `change` on every cell."""
        for cell in self.cells:
            change(cell)
        return self

    def copy_of(self, name):
        return copy.deepcopy(self.cell(name))


def source_of(cell):
    """Return a cell's text."""
    return "".join(cell["source"])
