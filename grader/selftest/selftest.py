"""A lab marked against itself: the solution, the stub, the slow specification, and every plausible wrong answer.

`python -m grader selftest LAB [--short]`. What a lab must show before a class gets it: full marks for the solution,
each time; none for the stub; each wrong answer loses exactly the exercise that it breaks. The notebook's own
checks, made from the same statements, must pass the solution and wait for the stub. The answers are the teacher's, so a
machine without a sandbox will do.
"""

import hashlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from grader.at_home import by_its_checks
from grader.lab.release import difference, notebook_with, release_notebook, solution_notebook, text_of, write_release
from grader.lab.source import LabError, load_lab, solved
from grader.lab.spec import Edit, Lab, Marking, Wrong
from grader.marking.mark import mark_submission
from grader.sandbox import Sandbox, SandboxUnavailable
from grader.sandbox.unsafe import WARNING, UnsafeSandbox
from grader.selftest.secrets import SECRETS, SLOW_SECRETS, passes

SOLUTION, STUB, SPECIFICATION = "the solution", "the stub", "the slow specification"
IN_A_ROW, IN_A_ROW_SHORT = 20, 2
FEW = 3  # wrong answers of each exercise that a short self-test marks
#: Seconds for one question to a wrong answer: one that hangs is as wrong after two as after five.
PATIENCE = 2.0


@dataclass(frozen=True)
class Answer:
    """A way to answer one exercise: its `label`, the `text` of its cell, and the share of the points that it `gets`."""

    exercise: str
    label: str
    text: str
    gets: float


@dataclass(frozen=True)
class Report:
    """The result of a self-test. `problems` is empty when the lab is fit for a class; `marked`: submissions marked."""

    lab: str
    problems: tuple[str, ...]
    answers: int
    marked: int

    def __bool__(self):
        return not self.problems

    def __str__(self):
        head = f"{self.lab}: {self.answers} answers in {self.marked} submissions"
        return "\n".join([f"{head}: {'fit for a class' if self else 'NOT fit for a class'}.", *self.problems])


def selftest(
    lab: Lab,
    short: bool = False,
    sandbox: Callable = Sandbox,
    tell: Callable[[str], object] = lambda line: None,
    checks: bool = True,
    secrets: int = SECRETS,
) -> Report:
    """Return the `Report` on `lab`, as `load_lab` gives it. `tell` hears a line after each submission.

    `short` marks one wrong answer of every exercise in one submission, so it can't see that one answer costs another
    exercise; it marks the first `FEW` of each, repeats less, and asks none the questions of many secrets:
    of `secrets`, or of three where a question takes seconds. `checks=False` leaves the notebook's own checks out.
    Where an exercise is called from outside, the solution is asked the questions that are not drawn once only, and a
    wrong answer that loses by these is asked no other secrets'.
    """
    problems = list(_as_written(lab))
    answers = [answer for exercise in lab.exercises if not exercise.manual for answer in answers_to(exercise, lab)]
    marker = _Marker(lab, sandbox, tell)
    for number in range(IN_A_ROW_SHORT if short else IN_A_ROW):
        problems += marker.mark([_solution(lab, e) for e in lab.exercises], f"{SOLUTION}, time {number + 1}")
        marker.lab = replace(lab, exercises=tuple(_drawn(e) for e in lab.exercises))
    marker.lab = lab
    problems += _of_the_checks(lab, tell) if checks else []
    problems += _of_wrong_answers(marker, answers, short)
    undecided = [answer for answer in answers if answer not in marker.decided]
    problems += [] if short else _of_many_secrets(lab, undecided, sandbox, tell, secrets)
    return Report(lab.name, tuple(problems), len(answers), marker.count)


def _of_wrong_answers(marker, answers, short):
    """Yield what is wrong with the marks of the stub, the specification and each wrong answer."""
    lab = marker.lab
    yield from marker.mark([a for a in answers if a.label == STUB], STUB)
    if short:  # the one specification that is slow is meant to lose its race, and one try will do for that
        marker.lab = replace(lab, exercises=[_one_try(e) if e.specification_gets < 1 else e for e in lab.exercises])
    yield from marker.mark([a for a in answers if a.label == SPECIFICATION], SPECIFICATION)
    wrong = [a for a in answers if a.label not in (SOLUTION, STUB, SPECIFICATION)]
    for together in _rows(lab, wrong)[:FEW] if short else [[answer] for answer in wrong]:
        title = " + ".join(f"{a.exercise}: {a.label}" for a in together)
        names = {answer.exercise for answer in together}  # the others are the solution, which needs its time and tries
        asked = [_quick(e) if e.name in names else _drawn(e, most=1) for e in lab.exercises]
        marker.lab = replace(lab, exercises=asked)
        yield from marker.mark(together, title, alone=not short)


def _of_many_secrets(lab, answers, sandbox, tell, secrets):
    """Yield the wrong answers that the questions of some secrets do not catch."""
    for answer in (a for a in answers if a.label not in (SOLUTION, STUB, SPECIFICATION)):
        exercise = _quick(lab.exercise(answer.exercise))
        texts = {cell.exercise: cell.solution for cell in lab.source.exercises()} | {answer.exercise: answer.text}
        code = [cell for cell in lab.source.cells if cell.type == "code" and cell.role in ("given", "exercise")]
        cells = [texts[cell.exercise] if cell.role == "exercise" else cell.solution for cell in code]
        is_quick = exercise.host is None and exercise.outside is None
        asked = secrets if is_quick else min(secrets, SLOW_SECRETS)
        count = passes(lab, exercise, cells, answer.gets, sandbox, asked)
        tell(f"{'✕' if count else '✓'} {answer.exercise}: {answer.label}: passes for {count} of {asked} secrets")
        if count:
            yield f"{answer.exercise}: {answer.label!r} passes for {count} of {asked} secrets; it must for none"


def answers_to(exercise: Marking, lab: Lab) -> list[Answer]:
    """Return every `Answer` that the lab gives to `exercise`: solution, stub, specification, wrong ones."""
    cell = lab.source.cell(exercise.name)
    answers = [_solution(lab, exercise), Answer(exercise.name, STUB, cell.text, 0.0)]
    if exercise.specification is not None:
        text = solved(cell.text, exercise.specification)
        answers.append(Answer(exercise.name, SPECIFICATION, text, exercise.specification_gets))
    for label, wrong in exercise.wrong.items():
        gets = wrong.gets if isinstance(wrong, (Wrong, Edit)) else 0.0
        answers.append(Answer(exercise.name, label, _text(wrong, cell, exercise, label), gets))
    return answers


def _solution(lab, exercise):
    return Answer(exercise.name, SOLUTION, lab.source.cell(exercise.name).solution, 1.0)


def _text(wrong, cell, exercise, label):
    if not isinstance(wrong, Edit):
        return solved(cell.text, wrong.source if isinstance(wrong, Wrong) else wrong)
    if cell.solution.count(wrong.old) != 1:
        raise LabError(
            f"{exercise.name}, {label!r}: {wrong.old!r} stands {cell.solution.count(wrong.old)} times in the solution; "
            "an Edit needs a text that stands there once."
        )
    return cell.solution.replace(wrong.old, wrong.new)


def _as_written(lab):
    """Yield the problems that show without running anything."""
    stale = difference(lab)
    if stale:
        yield stale
    for exercise in (e for e in lab.exercises if not e.manual):
        if len(exercise.wrong) < lab.enough:
            many = f"{len(exercise.wrong)} wrong answers are written beside the solution"
            yield f"{exercise.name}: {many}; {lab.enough} due."
        if not exercise.statement.oracle:
            yield f"{exercise.name}: it states no oracle."
        if exercise.specification is None:
            yield f"{exercise.name}: it has no slow specification."


def _one_try(exercise):
    # an answer that must lose a race needs neither many laps nor a second try
    return replace(exercise, race=exercise.race and replace(exercise.race, rounds=2, tries=1))


def _quick(exercise):
    # a wrong answer has to lose: one wrong question of a group will do
    return replace(_one_try(exercise), seconds=min(exercise.seconds, PATIENCE), asks_on=False)


def _drawn(exercise, most=None):
    # called from outside, each question takes some sandboxes: to the solution the fixed ones are the same each time
    stated = exercise.statement

    def cases(draw):
        every = list(stated.questions(draw))
        return ([case for case in every if not case.edge] or every)[:most]

    return exercise if exercise.outside is None else replace(exercise, statement=replace(stated, cases=cases))


def _is_decided(exercise, mark, gets):
    """Tell whether an answer called from outside loses its groups by what everybody is asked, whatever is drawn."""
    first_wrong: dict[str, bool] = {}  # group -> whether that question is a fixed one
    for case in mark.cases:
        if not case["right"]:
            first_wrong.setdefault(case["group"], case["edge"])
    most = sum(share for group, share in exercise.groups.items() if not first_wrong.get(group))
    return exercise.outside is not None and most <= gets + 1e-9


class _Marker:
    def __init__(self, lab, sandbox, tell):
        self.lab, self.sandbox, self.tell, self.count = lab, sandbox, tell, 0
        self.decided: set[Answer] = set()  # those that no draw can let pass

    def mark(self, answers: list[Answer], title: str, alone: bool = True) -> list[str]:
        """Return what is wrong with the marks of a submission of `answers`, the rest as the solution."""
        self.count += 1
        answers_by_exercise = {answer.exercise: answer for answer in answers}
        texts = {e.name: answers_by_exercise.get(e.name, _solution(self.lab, e)).text for e in self.lab.exercises}
        # the draw is another for each submission, and the same when the self-test is run again
        secret = hashlib.sha256(f"self-test {title}".encode()).digest()
        notebook = text_of(notebook_with(self.lab, texts)).encode()
        # a wrong answer beside others may be what an exercise builds on: only what they answer is asked
        lab = (
            self.lab
            if alone
            else replace(self.lab, exercises=[self.lab.exercise(name) for name in answers_by_exercise])
        )
        marks = mark_submission(lab, notebook, secret, self.sandbox)
        for name, answer in answers_by_exercise.items():
            if _is_decided(lab.exercise(name), marks.exercise(name), answer.gets):
                self.decided.add(answer)
        problems = [
            self._problem(mark, answers_by_exercise.get(mark.name), title)
            for mark in marks.exercises
            if not mark.manual
        ]
        self.tell(f"{'✕' if any(problems) else '✓'} {title}")
        return [problem for problem in problems if problem]

    def _problem(self, mark, answer, title):
        if mark.state == "grader_failed":
            return f"{title}: {mark.name}: {mark.reason}"
        gets = 1.0 if answer is None else answer.gets
        if abs(mark.score - gets * mark.max_score) < 1e-6:
            return None
        due = f"{mark.score:g} of {mark.max_score:g} where {gets * mark.max_score:g} is due"
        return f"{title}: {mark.name} gets {due} ({mark.state}: {mark.reason})"


def _rows(lab, answers):
    """Return the answers in groups, the first wrong one of every exercise, the second, …."""
    columns = [[a for a in answers if a.exercise == e.name] for e in lab.exercises]
    return [[c[row] for c in columns if row < len(c)] for row in range(max(map(len, columns), default=0))]


def _of_the_checks(lab, tell):
    """Yield the wrong verdicts of the notebook's own checks on the solution and on the stubs.

    Marks ask and judge by the same statement; here the checks run where a student runs them.
    """
    notebooks = ((SOLUTION, solution_notebook(lab), {"right"}), (STUB, release_notebook(lab), {"missing", "wrong"}))
    with tempfile.TemporaryDirectory() as place:
        path = write_release(lab, place)
        for label, notebook, legal in notebooks:
            lines = {line.exercise: line for line in by_its_checks(path, text_of(notebook).encode())}
            for name in (exercise.name for exercise in lab.exercises if not exercise.manual):
                if name not in lines or lines[name].kind not in legal:
                    verdict = f"{lines[name].kind}: {lines[name].reason}" if name in lines else "nothing"
                    yield f"{name}, {label}: the notebook's check says {verdict}"
            tell(f"{label}: the notebook's own checks were run")


def run(labs: Sequence[str], short: bool) -> int:
    """Test `labs`, folders or names of those in ./labs, and print the results; return the exit status.

    It is 0 when all are fit, 1 when one is not, 2 when one can't be read.
    """
    fit = True
    for name in labs:
        folder = name if Path(name).is_dir() else Path("labs", name)
        try:
            report = selftest_here(load_lab(folder), short, tell=partial(print, flush=True))
        except LabError as error:
            print(error, file=sys.stderr)
            return 2
        print(report, flush=True)
        fit = fit and bool(report)
    return 0 if fit else 1


def selftest_here(lab: Lab, short: bool = False, **settings: Any) -> Report:
    """`selftest` in sandboxes, or without where this machine has none: the answers are the lab's own. It says so."""
    try:
        return selftest(lab, short, **settings)
    except SandboxUnavailable as problem:
        print(f"There is no sandbox here ({problem}); the lab's own answers are {WARNING}.", file=sys.stderr)
        return selftest(lab, short, UnsafeSandbox, **settings)
