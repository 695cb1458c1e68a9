"""The words in which a lab's teacher states it: `marking.py`, beside `lab.py`, defines `LAB = Lab(...)` with these.

`marking.py` is the teacher's: it is run in the grader's process only, is never published with a release, and may import
the course's slow references as oracles. `lab.py` is what a student reads, with the solutions in it (see `source.py`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from course.checks.exercise import same, show


@dataclass(frozen=True)
class Case:
    """One question: the `arguments` that an answer is called with, plain data only.

    Plain are numpy arrays, int, float, str, bytes, bool, None, and lists, tuples and dicts of these.
    - `edge`: a fixed case that everybody gets; the others are drawn for each submission.
    - `group`: which part of the credit it belongs to (`Exercise.groups`); every case of a group must be right for it.
    - `files`: name -> bytes, laid into the working directory before the call (the arguments hold the name).
    - `truth`: what the drawing of the case knows about its answer, for a judge. It never enters the sandbox.
    - `plan`: plain data for the host of a `Beside`; the student's sandbox doesn't see it.
    """

    arguments: tuple
    edge: bool = False
    group: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    truth: object = None
    plan: object = None


def fixed_and_drawn(fixed, drawn):
    """Return the `Case`s of these tuples of arguments: of `fixed` ones, which everybody gets, then of `drawn` ones."""
    return [Case(one, edge=True) for one in fixed] + [Case(one) for one in drawn]


def asking(make):
    """Return the `cases` of an exercise from `make(draw)`, which gives (fixed, drawn) tuples of arguments."""
    return lambda draw: fixed_and_drawn(*make(draw))


@dataclass(frozen=True)
class Call:
    """The witness calls the entry on the arguments as they are."""


@dataclass(frozen=True)
class TensorCall:
    """The witness calls the entry on torch tensors made of the arrays among the arguments (dtype kept)."""


@dataclass(frozen=True)
class Drive:
    """The witness runs `source`, which defines `drive(entry, *arguments)`; what that returns is the evidence.

    For what a single call can't show: a class with methods, a hook, a function that is given a function. It runs beside
    the student's code, which can read and change it: it must hold no answer, and only values count, never its word.
    `adds` names the arguments that it adds to the case's, for the words of a counterexample.
    """

    source: str
    adds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Beside(Drive):
    """The entry works against a host: the grader's own process in a second sandbox, which saw what was done to it.

    `host` is source text that defines a class `Host`: `Host(plan)` starts serving on 127.0.0.1 and has an `address`
    (plain data); `seen()` ends it and returns evidence of the kind `seen`. The driver gets the address before the
    case's arguments: `drive(entry, address, *arguments)`. The judge gets a `Witnessed`. Standard library and numpy.
    """

    host: str = ""
    seen: object = None


@dataclass(frozen=True)
class Witnessed:
    """What an entry `gave`, and what the host beside it has `seen`: the second is nobody's word but the grader's."""

    gave: object
    seen: object

    def __repr__(self):
        return repr(self.gave)


#: For an answer that is a value, not a function: its cases have no arguments.
VALUE = Drive("def drive(value):\n    return value\n")


@dataclass(frozen=True)
class Race:
    """The entry is called as by `Call` and must also be `times` as fast as `reference`, timed outside both sandboxes.

    The last case, of `group`, begins a race of `rounds`: the arguments of the next are `chain(draw, answer)`, the
    answer just given and fresh noise, so that nothing can be worked out ahead. `reference` is source text that defines
    the same entry; it is asked the same in a sandbox of its own. With `groups`, the race is worth the share of `group`.
    """

    reference: str
    times: float
    chain: Callable
    rounds: int = 5
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
class Exercise:
    """What is asked, what counts as evidence, and who knows a right answer.

    - `name`: that of the cell (its tag is `exercise:NAME`) and, if `entry` is not given, of what the cell defines.
    - `cases(draw)`: list of `Case`, the smallest first; `draw` is a `numpy.random.Generator` seeded by the grading's
      secret. Edge cases must not depend on it.
    - `evidence`: a kind (`grader.marking.result_types`), or a function `case -> kind` where shapes differ.
    - `expected(*arguments)`: the oracle, a slow reference or the like that is not the solution; or
      `judge(case, got)`: None, or a sentence that says what was expected. With neither, each case's `truth` decides.
    - `oracle`: one sentence that names the oracle; the notebook shows it.
    - `witness`: `Call()`, `TensorCall()`, `Drive(source)`, `Beside(...)` or `Race(...)`.
    - `tolerance`: relative, for floats, where `expected` decides. 0 compares bits.
    - `groups`: share of the points by group of cases; they sum to 1. By default one wrong case loses all.
    - `wrong`: label -> plausible wrong answer: source text, `Wrong` or `Edit`; at least five.
    - `specification`: the slow version as source text; pasted back as an answer it `specification_gets` that share.
      These two may stand in a file of their own, `wrong.py`, as `WRONG` and `SPECIFICATION`: exercise -> the like.
    - `points`: from the cell's tag `points:3`; need not be repeated.
    - `seconds`: for one case. `needs`: exercises whose answers this one builds on. `manual`: marked by a person.
    """

    name: str
    cases: Callable | None = None
    evidence: object = None
    expected: Callable | None = None
    judge: Callable | None = None
    oracle: str = ""
    entry: str | None = None
    witness: object = Call()
    tolerance: float = 1e-6
    groups: Mapping[str, float] = field(default_factory=lambda: {"": 1.0})
    wrong: Mapping[str, str | Wrong | Edit] = field(default_factory=dict)
    specification: str | None = None
    specification_gets: float = 1.0
    points: float | None = None
    seconds: float = 5.0
    needs: tuple[str, ...] = ()
    manual: bool = False

    def __post_init__(self):
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,50}", self.name):
            raise ValueError(f"Exercise({self.name!r}): a name is lower-case letters, digits and _, such as 'step'.")
        if self.entry is None:
            object.__setattr__(self, "entry", self.name)
        if self.manual:
            return
        if self.cases is None or self.evidence is None or (self.expected is not None and self.judge is not None):
            raise ValueError(
                f"Exercise({self.name!r}): it needs cases, evidence, and expected or judge, not both; or manual=True."
            )
        if abs(sum(self.groups.values()) - 1) > 1e-9:
            raise ValueError(f"Exercise({self.name!r}, groups={dict(self.groups)}): the shares must sum to 1.")

    def kind(self, case):
        """Return the kind of evidence that `case` asks for."""
        return self.evidence(case) if isinstance(self.evidence, Callable) else self.evidence

    def complaint(self, case, got):
        """Return None when `got` is right, else a sentence: what was expected. `got` is decoded evidence."""
        if self.judge is not None:
            return self.judge(case, got)
        wanted = case.truth if self.expected is None else self.expected(*case.arguments)
        return None if equal(got, wanted, self.tolerance) else f"expected {show(wanted)}"

    def question(self, case):
        """Return the call in words, such as `step([[0, 1], [1, 0]])`, and what its files hold."""
        if self.witness == VALUE:
            return self.entry
        told = [*(show(argument) for argument in case.arguments), *getattr(self.witness, "adds", ())]
        files = [f"{name} holding {show(data.decode('utf-8', 'replace'))}" for name, data in case.files.items()]
        return f"{self.entry}({', '.join(told)})" + (f", {' and '.join(files)}," if files else "")

    def share(self, cases, right, race_lost=False):
        """Return the share of the points, 0 to 1: that of the groups all of whose cases are `right` (booleans).

        A lost race loses its group; where the lab gives it none of its own, everything.
        """
        lost = {case.group for case, good in zip(cases, right, strict=True) if not good}
        if race_lost:
            lost |= {self.witness.group} & set(self.groups) or set(self.groups)
        return sum(share for group, share in self.groups.items() if group not in lost)


@dataclass(frozen=True)
class Lab:
    """A lab: its exercises in the notebook's order, and what the sandbox of a submission is given.

    - `name`: the folder's, such as `lab03_game_of_life`.
    - `modules`: the modules of `course` that are visible inside (the allow-list), such as `course.life.files`.
    - `masked`: names in them that are taken out, such as `course.life.files.read_pattern`: what an exercise asks for.
    - `files`: names of files in the lab's folder that are published with it and lie in the working directory.
    - `seconds`: wall clock for running the cells; `memory`: bytes for the whole process tree.
    - `folder`, `source`: filled in by `load_lab`: where it is, and `lab.py` as read.
    - `imports`: what every submission loads anyway, such as `("numpy", "torch")`; loaded before its cells run.
    """

    name: str
    exercises: tuple[Exercise, ...]
    title: str = ""
    modules: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    imports: tuple[str, ...] = ("numpy",)
    seconds: float = 30.0
    memory: int = 1 << 30
    folder: object = None
    source: object = None

    def __post_init__(self):
        object.__setattr__(self, "exercises", tuple(self.exercises))
        names = [exercise.name for exercise in self.exercises]
        if len(set(names)) != len(names):
            raise ValueError(f"Lab({self.name!r}): two exercises have one name: {', '.join(sorted(names))}.")

    def exercise(self, name):
        """Return the exercise called `name`."""
        for exercise in self.exercises:
            if exercise.name == name:
                return exercise
        raise ValueError(f"{self.name} has no exercise {name!r}; it has {', '.join(e.name for e in self.exercises)}.")

    @property
    def points(self):
        """The most that a submission can get."""
        return sum(exercise.points or 0 for exercise in self.exercises)


def equal(got, wanted, relative=1e-6):
    """Return whether evidence equals what was expected: arrays by shape and value, floats to `relative`."""
    if isinstance(got, np.ndarray) and hasattr(wanted, "shape"):
        wanted = np.asarray(wanted)
        if got.shape != wanted.shape:
            return False
        if got.dtype.kind in "fc" or wanted.dtype.kind in "fc":
            return bool(np.allclose(got, wanted, rtol=relative, atol=1e-12, equal_nan=True))
        return bool(np.array_equal(got, wanted))
    if isinstance(wanted, np.generic):
        wanted = wanted.item()
    return same(got, wanted, relative)
