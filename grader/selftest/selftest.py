"""A lab marked against itself: the solution, the stub, the slow specification, and every plausible wrong answer.

`python -m grader selftest LAB [--short]`. What a lab must show before a class gets it: full marks for the
solution, each time; none for the stub; for each wrong answer exactly the exercise that it breaks is lost; and the
notebook's own checks say the same as the marks. The answers are the teacher's, so a machine without a sandbox will do.
"""

import argparse
import dataclasses
import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader.lab.release import difference, notebook_with, text_of
from grader.lab.source import LabError, load_lab, solved
from grader.lab.spec import Edit, Wrong
from grader.marking.mark import mark_submission
from grader.sandbox import Sandbox, SandboxUnavailable
from grader.sandbox.unsafe import WARNING, UnsafeSandbox
from grader.selftest.agreement import verdicts

SOLUTION, STUB, SPECIFICATION = "the solution", "the stub", "the slow specification"
ENOUGH = 5  # wrong answers an exercise
IN_A_ROW, IN_A_ROW_SHORT = 20, 2
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
    """What a self-test found. `problems` is empty when the lab is fit for a class; `marked`: submissions marked."""

    lab: str
    problems: tuple[str, ...]
    answers: int
    marked: int

    def __bool__(self):
        return not self.problems

    def __str__(self):
        head = f"{self.lab}: {self.answers} answers in {self.marked} submissions"
        return "\n".join([f"{head}: {'fit for a class' if self else 'NOT fit for a class'}.", *self.problems])


def selftest(lab, short=False, sandbox=Sandbox, tell=lambda line: None, checks=True):
    """Return the `Report` on `lab`, as `load_lab` gives it. `tell` hears a line after each submission.

    `short` marks one wrong answer of every exercise in one submission, so it can't see that one answer costs another
    exercise; it marks the first five of each, repeats less, and makes no counterexample smaller. `checks=False` leaves
    the notebook's own checks out.
    """
    problems = list(_as_written(lab))
    answers = [answer for exercise in lab.exercises if not exercise.manual for answer in answers_to(exercise, lab)]
    marker = _Marker(lab, sandbox, tell)
    for number in range(IN_A_ROW_SHORT if short else IN_A_ROW):
        problems += marker.mark([_solution(lab, e) for e in lab.exercises], f"{SOLUTION}, time {number + 1}")
    # beside each other: both sides mostly wait for wrong answers, or load torch; but nothing runs beside a race
    with ThreadPoolExecutor(1) as process:
        said = process.submit(_disagreements, lab, answers, not short) if checks else None
        if said is not None and any(e.race for e in lab.exercises):
            said.result()
        problems += _of_wrong_answers(marker, answers, short)
        problems += said.result() if said is not None else []
    return Report(lab.name, tuple(problems), len(answers), marker.count)


def _of_wrong_answers(marker, answers, short):
    """Yield what is wrong with the marks of the stub, the specification and each wrong answer."""
    for label in (STUB, SPECIFICATION):
        yield from marker.mark([a for a in answers if a.label == label], label)
    lab, marker.lab = marker.lab, _hurried(marker.lab)
    wrong = [a for a in answers if a.label not in (SOLUTION, STUB, SPECIFICATION)]
    for together in _rows(lab, wrong)[:ENOUGH] if short else [[answer] for answer in wrong]:
        told = " + ".join(f"{a.exercise}: {a.label}" for a in together)
        yield from marker.mark(together, told, alone=not short)


def answers_to(exercise, lab):
    """Return every `Answer` that the lab gives to `exercise`: solution, stub, specification, wrong ones."""
    cell = lab.source.cell(exercise.name)
    found = [_solution(lab, exercise), Answer(exercise.name, STUB, cell.text, 0.0)]
    if exercise.specification is not None:
        text = solved(cell.text, exercise.specification)
        found.append(Answer(exercise.name, SPECIFICATION, text, exercise.specification_gets))
    for label, wrong in exercise.wrong.items():
        gets = wrong.gets if isinstance(wrong, (Wrong, Edit)) else 0.0
        found.append(Answer(exercise.name, label, _text(wrong, cell, exercise, label), gets))
    return found


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
    """Yield what can be seen without running anything."""
    stale = difference(lab)
    if stale:
        yield stale
    for exercise in (e for e in lab.exercises if not e.manual):
        if len(exercise.wrong) < ENOUGH:
            yield f"{exercise.name}: {len(exercise.wrong)} wrong answers are written beside the solution; {ENOUGH} due."
        if not exercise.oracle:
            yield f"{exercise.name}: it states no oracle."
        if exercise.specification is None:
            yield f"{exercise.name}: it has no slow specification."


def _hurried(lab):
    quick = [dataclasses.replace(e, seconds=min(e.seconds, PATIENCE)) for e in lab.exercises]
    return dataclasses.replace(lab, exercises=quick)


class _Marker:
    def __init__(self, lab, sandbox, tell):
        self.lab, self.sandbox, self.tell, self.count = lab, sandbox, tell, 0

    def mark(self, answers, told, alone=True):
        """Return what is wrong with the marks of a submission of `answers`, the rest as the solution."""
        self.count += 1
        given = {answer.exercise: answer for answer in answers}
        texts = {e.name: _solution(self.lab, e).text for e in self.lab.exercises}
        texts.update({name: answer.text for name, answer in given.items()})
        # the draw is another for each submission, and the same when the self-test is run again
        secret = hashlib.sha256(f"self-test {told}".encode()).digest()
        notebook = text_of(notebook_with(self.lab, texts)).encode()
        marks = mark_submission(self.lab, notebook, secret, self.sandbox)
        found = [self._problem(mark, given.get(mark.name), told, alone) for mark in marks.exercises if not mark.manual]
        found = [problem for problem in found if problem]
        self.tell(f"{'✕' if found else '✓'} {told}")
        return found

    def _problem(self, mark, answer, told, alone):
        if mark.state == "grader_failed":
            return f"{told}: {mark.name}: {mark.reason}"
        if answer is None and not alone:
            return None  # a wrong answer beside it may be what it builds on
        gets = 1.0 if answer is None else answer.gets
        if abs(mark.score - gets * mark.max_score) < 1e-6:
            return None
        due = f"{mark.score:g} of {mark.max_score:g} where {gets * mark.max_score:g} is due"
        return f"{told}: {mark.name} gets {due} ({mark.state}: {mark.reason})"


def _rows(lab, answers):
    """Return the answers in groups, the first wrong one of every exercise, the second, …."""
    columns = [[a for a in answers if a.exercise == e.name] for e in lab.exercises]
    return [[c[row] for c in columns if row < len(c)] for row in range(max(map(len, columns), default=0))]


def _disagreements(lab, answers, smaller):
    """Return where the check in the notebook says something other than the marking does."""
    said, found = verdicts(lab, [(answer.exercise, answer.text) for answer in answers], smaller), []
    for answer, state in zip(answers, said, strict=True):
        passes = answer.gets >= _checkable(lab.exercise(answer.exercise))
        if state not in ("passed", "wrong", "not yet") or (state == "passed") != passes:
            due = "passed" if passes else "wrong"
            found.append(f"{answer.exercise}, {answer.label}: check says {state!r}, marking means {due!r}.")
    return found


def _checkable(exercise):
    # a check in the notebook can't race, so what is right and slow passes there
    fast = exercise.groups.get(exercise.race.group, 0.0) if exercise.race else 0.0
    return 1.0 - fast


def main(arguments):
    """Test the labs named; return the exit status: 0 when all are fit, 1 when one is not, 2 when one can't be read."""
    parser = argparse.ArgumentParser(prog="python -m grader selftest", description=__doc__.splitlines()[0])
    parser.add_argument("labs", nargs="+", metavar="LAB", help="labs' folders, such as labs/lab03_game_of_life")
    parser.add_argument(
        "--short",
        action="store_true",
        help="five wrong answers an exercise, several in one submission, fewer repetitions",
    )
    options = parser.parse_args(arguments)
    fit = True
    for folder in options.labs:
        try:
            report = selftest_here(load_lab(_folder(folder)), options.short, lambda line: print(line, flush=True))
        except LabError as error:
            print(error, file=sys.stderr)
            return 2
        print(report, flush=True)
        fit = fit and bool(report)
    return 0 if fit else 1


def _folder(named):
    """Return the lab's folder, which may be given by the name of one in ./labs."""
    return named if Path(named).is_dir() else Path("labs", named)


def selftest_here(lab, short=False, tell=lambda line: None):
    """`selftest` in sandboxes, or without where this machine has none: the answers are the lab's own. It says so."""
    try:
        return selftest(lab, short, tell=tell)
    except SandboxUnavailable as problem:
        print(f"There is no sandbox here ({problem}); the lab's own answers are {WARNING}.", file=sys.stderr)
        return selftest(lab, short, UnsafeSandbox, tell)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
