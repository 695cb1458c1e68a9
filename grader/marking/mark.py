"""A mark: rebuild the submission, run it in a sandbox, ask it on inputs it could not know, judge the values here.

`mark_submission` is all that the class side calls. Nothing of the student's is run, unpickled or evaluated in this
process: what it holds of a submission is text, and values read as the kind of evidence that the lab stated.

| state | what it says of an exercise |
|---|---|
| graded | it was asked and answered; the score says how well |
| missing | it was not answered: the cell is gone, or is as released |
| crashed | its cell failed, or it ended the Python that ran it |
| timed_out | it did not come to an end |
| unreadable | the file is no notebook |
| refused | the file was not read: too large |
| unplaced | nothing was handed in, but what could not be placed may be theirs: no mark, never a zero |
| grader_failed | the grader or the lab failed: no mark, never a zero to count |
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from grader.lab.spec import Lab
from grader.marking.rounds import ask_all
from grader.marking.why_this_mark import ExerciseMark, verdict
from grader.sandbox import Sandbox
from grader.submission.read import TooLarge, Unreadable
from grader.submission.rebuild import rebuild

STATES = ("graded", "missing", "crashed", "timed_out", "unreadable", "refused", "unplaced", "grader_failed")


@dataclass(frozen=True)
class Marks:
    """A submission's marks. `cells` are the student's own, as text (fields of `rebuild.Shown`); `log`: what it printed.

    Both are a student's text: escape them where they are shown.
    """

    lab: str
    exercises: tuple[ExerciseMark, ...]
    cells: tuple[dict, ...] = ()
    log: str = ""

    def exercise(self, name: str) -> ExerciseMark:
        """Return the mark of the exercise so called."""
        return next(mark for mark in self.exercises if mark.name == name)

    @property
    def score(self) -> float:
        """The points of all exercises together."""
        return sum(mark.score for mark in self.exercises)


def mark_submission(lab: Lab, notebook: bytes, secret: bytes, sandbox: Callable = Sandbox) -> Marks:
    """Return the `Marks` of a submission: `lab` as `load_lab` gives it, `notebook` its bytes, `secret` of this grading.

    `sandbox`: what makes a sandbox from a profile; `unsafe.UnsafeSandbox` where there can be none. Raises nothing for
    what a submission holds; where a lab's own cases or judge fail, the exercise is `grader_failed`. SandboxUnavailable
    passes through.
    """
    try:
        rebuilt = rebuild(lab, notebook)
    except Unreadable as problem:
        return unasked(lab, "unreadable", f"The notebook can't be read: {problem}")
    except TooLarge as problem:
        return unasked(lab, "refused", f"The notebook was not read: {problem}")
    outcomes = ask_all(lab, rebuilt, secret, sandbox)
    marks = tuple(verdict(exercise, outcomes, rebuilt) for exercise in lab.exercises)
    return Marks(lab.name, marks, tuple(asdict(cell) for cell in rebuilt.cells), outcomes.log)


def unasked(lab: Lab, state: str, reason: str) -> Marks:
    """Return the `Marks` of a submission of which nothing was asked: every exercise in that `state`, without points."""
    marks = [ExerciseMark(e.name, state, 0.0, e.points or 0, reason, (), e.manual) for e in lab.exercises]
    return Marks(lab.name, tuple(marks))
