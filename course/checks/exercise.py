"""An exercise, stated once: what an answer is asked, how it is called, and an oracle that knows a right one.

`check` in a notebook and the marks of a class are made from the same statement: the same questions, drawn with another
seed, the same call, the same oracle. What only marks need (points, kinds of evidence, wrong answers) is not in it.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from course.checks.compare import equal, show

#: `call` for an answer that is a value, not a function: its cases have no arguments.
VALUE = "def drive(value):\n    return value\n"
#: Of the questions that `check` draws: the same for everybody, each time. Marks are made with other seeds.
SEED = 1


@dataclass(frozen=True)
class Case:
    """One question: the `arguments` that an answer is called with; for marks, plain data only.

    Plain are numpy arrays, int, float, str, bytes, bool, None, and lists, tuples and dicts of these.
    - `edge`: a fixed case that everybody gets; the others are drawn for each submission.
    - `group`: which part of the credit it belongs to; where marks are made every case of a group must be right for it.
    - `files`: name -> bytes, which are there when the answer is called (the arguments hold the name).
    - `truth`: what the drawing of the case knows about its answer. It never enters a sandbox.
    - `plan`: plain data for what the answer works against (a store that dies by plan); the answer doesn't see it.
    """

    arguments: tuple
    edge: bool = False
    group: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    truth: object = None
    plan: object = None


def asking(make: Callable) -> Callable[..., list[Case]]:
    """Return the `cases` of an exercise from `make(draw)`: tuples of arguments that everybody gets, and drawn ones."""

    def cases(draw):
        fixed, drawn = make(draw)
        return [Case(arguments, edge=True) for arguments in fixed] + [Case(arguments) for arguments in drawn]

    return cases


@dataclass(frozen=True)
class Observed:
    """The result that an answer `gave`, and the record that its counterpart has `seen` of it."""

    gave: Any
    seen: Any

    def __repr__(self):
        return repr(self.gave)


@dataclass(frozen=True)
class Exercise:
    """The question, how the answer is called, and the oracle that knows a right answer.

    - `name`: that of the exercise; and of the function, class or value that the reader writes, unless `entry` names it.
    - `cases(draw)`: `Case`s or argument tuples, the smallest first, so that the first failure is the smallest
      counterexample. `draw` is a `numpy.random.Generator`; cases that are not drawn may do without: `cases()`.
      None for what a person marks.
    - `expected(*arguments)`: the slow reference; or `judge(case, got)`: None, or a sentence that says what was
      expected; or `accepts(got, *arguments)`: True, or such a sentence. With none of them, each case's `truth`.
    - `hint`: one sentence, shown under the second counterexample. `oracle`: what knows a right answer, in words.
    - `inputs()`: Hypothesis strategy of legal argument tuples (or `Case`s), or a context manager that gives one. With
      it a counterexample is made as small as can be found, and an answer that passes the cases is tried on its inputs.
    - `call`: how an answer is called with what a single call can't bring, such as a function, or by several calls:
      `drive(answer, *arguments)`, whose result is judged. Where marks are made its file runs in the sandbox beside the
      answer, so it stands alone and holds no answer itself. Source text that defines `drive` will do, too.
    - `adds`: names of the arguments that `call` adds to the case's, for the words of a counterexample; `told` puts a
      case's arguments into words: `told(*arguments)` is a text.
    - `tensors`: arrays among the arguments become torch tensors, dtype kept.
    - `tolerance`: relative, for floats, where `expected` or `truth` decides. 0 compares bits.
    - `read`: in a kernel, makes what is judged of what the answer gave (an array of nested lists); raises
      where it can't. `wants` says what was wanted then.
    - `in_kernel(answer, case)`: how a kernel asks, where marks are made against a host in a process of its own.
    - `watch()`: context manager that lasts until the verdict (with devices that the answer needs); it yields a function
      `(answer, arguments) -> (got, seen)`; `accepts` gets `seen` right after `got`. For chapters: marks don't use it.
    """

    name: str
    cases: Callable[..., Iterable] | None = None
    expected: Callable | None = None
    accepts: Callable | None = None
    hint: str = ""
    watch: Callable | None = None
    inputs: Callable | None = None
    judge: Callable | None = None
    oracle: str = ""
    entry: str = ""
    call: Callable | str | None = None
    adds: tuple[str, ...] = ()
    told: Callable | None = None
    tensors: bool = False
    tolerance: float = 1e-6
    read: Callable | None = None
    wants: str = ""
    in_kernel: Callable | None = None

    def __post_init__(self):
        if sum(oracle is not None for oracle in (self.judge, self.expected or self.accepts)) > 1:
            raise ValueError(f"Exercise({self.name!r}): judge decides alone; leave out expected and accepts.")
        object.__setattr__(self, "entry", self.entry or self.name)

    def questions(self, draw: Any = None) -> Iterator[Case]:
        """Yield the `Case`s; what is drawn comes from `draw`, by default with the seed of all checks."""
        if self.cases is None:
            cases: Iterable = ()
        elif not inspect.signature(self.cases).parameters:
            cases = self.cases()
        else:
            from numpy.random import default_rng

            cases = self.cases(default_rng(SEED) if draw is None else draw)
        return (case if isinstance(case, Case) else Case(tuple(case)) for case in cases)

    def complaint(self, case: Case, got: Any, observed: tuple = ()) -> str | None:
        """Return None when `got` is right for `case`, else a sentence that says what was expected.

        `observed` is what watching the answer gave, as a tuple: empty, or one thing.
        """
        if self.judge is not None:
            return self.judge(case, got)
        if self.accepts is not None:
            verdict = self.accepts(got, *observed, *case.arguments)
            if verdict is not True:
                return verdict or "that does not have the property asked for"
            if self.expected is None:
                return None
        wanted = self.wanted(case)
        return None if equal(got, wanted, self.tolerance) else f"expected {show(wanted)}"

    def wanted(self, case: Case) -> Any:
        """Return a right answer for `case`, by `expected` or by the case's own `truth`; None with neither."""
        return case.truth if self.expected is None else self.expected(*case.arguments)

    def question(self, case: Case) -> str:
        """Return the call in words, such as `step([[0, 1], [1, 0]])`, and what its files hold."""
        if self.call == VALUE:
            return self.entry
        texts = [self.told(*case.arguments)] if self.told else [show(argument) for argument in case.arguments]
        files = [f"{name} holding {show(data.decode('utf-8', 'replace'))}" for name, data in case.files.items()]
        return f"{self.entry}({', '.join([*texts, *self.adds])})" + (f", {' and '.join(files)}," if files else "")


def by_name(*exercises: Exercise) -> dict[str, Exercise]:
    """Return name -> exercise: the EXERCISES of a file of checks."""
    return {exercise.name: exercise for exercise in exercises}


def strategy(module: str, name: str) -> Callable:
    """Return a function that imports the Hypothesis strategy `module.name()` when a check needs it.

    `module` lies beside the exercise, in the package of its folder (see `load_part`); it is no room of the course.
    """
    return lambda: getattr(import_module(module), name)()
