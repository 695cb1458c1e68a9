"""How a lab is marked, as its teacher states it: `marking.py`, beside `lab.py`, defines `LAB = Lab(...)`.

`checks.py`, which students get with the lab, states the questions and the oracles; `marking.py` states what only marks
need. It is the teacher's: it is run in the grader's process only and never published.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from course.checks.exercise import VALUE, Case, Exercise

__all__ = ["VALUE", "Case", "Edit", "Exercise", "Host", "Lab", "Marking", "Race", "Wrong"]


@dataclass(frozen=True)
class Host:
    """The entry works against a host: the grader's own process in a second sandbox, which records what is done to it.

    `source` is text that defines a class `Host`: `Host(plan)` starts serving on 127.0.0.1 and has an `address` (plain
    data); `seen()` ends it and returns evidence of the kind `seen`. `call` is text that defines
    `drive(entry, address, *arguments)`, which runs beside the entry. The judge gets an `Observed` of
    `course.checks.exercise`. Standard library, numpy, and `grader.inside.links`, which knows how to listen.
    """

    call: str
    source: str
    seen: Any


@dataclass(frozen=True)
class Race:
    """The entry must also be `times` as fast as `reference`, in processor time, measured outside both sandboxes.

    A case of `group` begins a race of `rounds`: it has the arguments `start(draw)` (without a `start` the last of the
    cases begins it); those of the next are `chain(draw, answer)`, the answer just given and fresh noise, so that
    nothing can be worked out ahead. `reference` is source text that defines the same entry; it is asked the same in a
    sandbox of its own. A machine that is busy with other things must not decide: the quickest laps of `tries` count.
    With `groups`, the race is worth the share of `group`.
    """

    reference: str
    times: float
    chain: Callable
    start: Callable | None = None
    rounds: int = 5
    tries: int = 3
    group: str = "fast"


@dataclass(frozen=True)
class Wrong:
    """A plausible wrong answer whose exercise still `gets` that share of its points."""

    source: str
    gets: float = 0.0


@dataclass(frozen=True)
class Edit:
    """A plausible wrong answer made from the solution: `old`, which stands in it once, becomes `new`."""

    old: str
    new: str
    gets: float = 0.0


@dataclass(frozen=True)
class Marking:
    """How one exercise is marked.

    - `statement`: the `Exercise`, which `checks.py` states.
    - `manual`: a person marks it; then `Exercise(name)` says enough.
    - `evidence`: a kind (`grader.marking.result_types`), or a function `case -> kind` where shapes differ.
    - `host`: a `Host`, where the answer works against one. `outside`: a function of a case and a
      `grader.marking.outside.Outside`, where it is called by the grader's own process, with a folder that is watched
      from there; it returns the `Answer`. `race`: a `Race`, where it must be fast.
    - `groups`: share of the points by group of cases; they sum to 1. By default one wrong case loses all.
    - `seconds`: for one case. `needs`: exercises whose answers this one builds on.
    - `wrong`: label -> plausible wrong answer: source text, `Wrong` or `Edit`; `Lab.enough` of them.
    - `specification`: the slow version as source text; pasted back as an answer it `specification_gets` that share.
      These two may stand in a file of their own, `wrong.py`, as `WRONG` and `SPECIFICATION`: exercise -> the like.
    - `points`: from the cell's tag `points:3`; need not be repeated.
    - `asks_on`: whether a group that is lost is asked its other questions too, for the shortest counterexample of all.
    """

    statement: Exercise
    evidence: Any = None
    host: Host | None = None
    outside: Callable | None = None
    race: Race | None = None
    groups: Mapping[str, float] = field(default_factory=lambda: {"": 1.0})
    seconds: float = 5.0
    needs: tuple[str, ...] = ()
    manual: bool = False
    wrong: Mapping[str, str | Wrong | Edit] = field(default_factory=dict)
    specification: str | None = None
    specification_gets: float = 1.0
    points: float | None = None
    asks_on: bool = True

    def __post_init__(self):
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,50}", self.name):
            raise ValueError(f"Marking({self.name!r}): a name is lower-case letters, digits and _, such as 'step'.")
        if self.manual:
            return
        if self.evidence is None:
            raise ValueError(f"Marking({self.name!r}): it needs evidence; or manual=True.")
        if abs(sum(self.groups.values()) - 1) > 1e-9:
            raise ValueError(f"Marking({self.name!r}, groups={dict(self.groups)}): the shares must sum to 1.")

    @property
    def name(self) -> str:
        """The exercise's name, which its cell has, too: the cell's tag is `exercise:NAME`."""
        return self.statement.name

    @property
    def entry(self) -> str:
        """The name of what the cell defines."""
        return self.statement.entry

    @property
    def call(self) -> str | None:
        """Source text that defines `drive(entry, *arguments)`, which runs beside the entry; None for a plain call."""
        return source_of(self.statement.call) if self.host is None else self.host.call

    def cases(self, draw: np.random.Generator) -> list[Case]:
        """Return the questions, the smallest first; `draw` is seeded by the grading's secret."""
        cases = list(self.statement.questions(draw))
        if self.race is not None and self.race.start is not None:
            cases.append(Case(tuple(self.race.start(draw)), group=self.race.group))
        return cases

    def kind(self, case: Case) -> Any:
        """Return the kind of evidence that `case` asks for."""
        return self.evidence(case) if callable(self.evidence) else self.evidence

    def share(self, cases: list[Case], right: list[bool], race_lost: bool = False) -> float:
        """Return the share of the points, 0 to 1: that of the groups all of whose cases are `right`.

        A lost race loses its group; where the lab gives it none of its own, everything.
        """
        lost = {case.group for case, good in zip(cases, right, strict=True) if not good}
        if race_lost and self.race is not None:
            lost |= {self.race.group} & set(self.groups) or set(self.groups)
        return sum(share for group, share in self.groups.items() if group not in lost)


@lru_cache(maxsize=32)
def source_of(call: Callable | str | None) -> str | None:
    """Return `call` as source text that defines `drive`: a function's whole file, which must stand alone."""
    if call is None or isinstance(call, str):
        return call
    path = Path(inspect.getfile(call))
    text = path.read_text(encoding="utf-8")
    if re.search(r"^\s*from \.", text, re.M):
        raise ValueError(f"{path.name}: it runs beside an answer, alone: it can't import siblings.")
    return text if call.__name__ == "drive" else f"{text}\ndrive = {call.__name__}\n"


@dataclass(frozen=True)
class Lab:
    """A lab: its exercises in the notebook's order, and what the sandbox of a submission is given.

    - `name`: the folder's, such as `lab03_game_of_life`.
    - `exercises`: a `Marking` for each.
    - `modules`: the modules of `course` that are visible inside (the allow-list), such as `course.life.files`.
    - `masked`: names in them that are taken out, such as `course.life.files.read_pattern`: what an exercise asks for.
    - `files`: names of files in the lab's folder that are published with it and lie in the working directory.
    - `seconds`: wall clock for running the cells; `memory`: bytes for the whole process tree.
    - `folder`, `source`: filled in by `load_lab`: where it is, and `lab.py` as read.
    - `imports`: what every submission loads anyway, such as `("numpy", "torch")`; loaded before its cells run.
    - `enough`: wrong answers that the self-test wants of each exercise.
    """

    name: str
    exercises: tuple[Marking, ...]
    title: str = ""
    modules: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    imports: tuple[str, ...] = ("numpy",)
    seconds: float = 30.0
    memory: int = 1 << 30
    enough: int = 5
    folder: Any = None
    source: Any = None

    def __post_init__(self):
        object.__setattr__(self, "exercises", tuple(self.exercises))
        names = [exercise.name for exercise in self.exercises]
        if len(set(names)) != len(names):
            raise ValueError(f"Lab({self.name!r}): two exercises have one name: {', '.join(sorted(names))}.")

    def exercise(self, name: str) -> Marking:
        """Return the exercise called `name`; raises ValueError where there is none."""
        for exercise in self.exercises:
            if exercise.name == name:
                return exercise
        raise ValueError(f"{self.name} has no exercise {name!r}; it has {', '.join(e.name for e in self.exercises)}.")

    @property
    def points(self) -> float:
        """The most that a submission can get."""
        return sum(exercise.points or 0 for exercise in self.exercises)
