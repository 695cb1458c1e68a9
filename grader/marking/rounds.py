"""Asking all exercises of one submission: one sandbox, and a fresh one without whatever hung or ended the last.

A failure of one exercise costs only that one. A cell that hangs is left out, with the rest of its answer; a question
that hangs is not asked again. Each round settles something, so the rounds come to an end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from grader.inside.values import pack
from grader.lab.secret_draw import drawing
from grader.lab.spec import Lab, Marking
from grader.marking.judge import Judge, JudgeFailed, NotJudged
from grader.marking.questions import SandboxedSubmission, SetUpFailed, Stopped
from grader.marking.speed_test import WrongInRace, race
from grader.sandbox import SandboxUnavailable
from grader.submission.rebuild import Rebuilt

#: Cells of no exercise that may be left out, one a round; then the notebook is given up.
SPARE_ROUNDS = 4
LOG = 20_000  # characters


@dataclass(frozen=True)
class Result:
    """The result of one question, or of a race. `problem` is None when it was right.

    `stopped`: a state, when nothing came back. `wrong`: an answer of the race was wrong, and not only slow.
    """

    problem: str | None = None
    stopped: str | None = None
    wrong: bool = False


@dataclass
class Outcomes:
    """The questions to one submission and their results, filled in while it is asked.

    - `cases`, `results`: exercise -> list, one for each question; a result of None: not asked yet.
    - `failed`: exercise -> what failed of the grader or the lab. `absent`: exercise -> the error of its cell, or "".
    - `hung`: exercise -> (state, why): its cell never came to an end. `left_out`: such cells of no exercise, in words.
    - `races`: exercise -> a `Result`. `log`: what the submission printed.
    """

    cases: dict = field(default_factory=dict)
    results: dict = field(default_factory=dict)
    failed: dict = field(default_factory=dict)
    absent: dict = field(default_factory=dict)
    hung: dict = field(default_factory=dict)
    left_out: list = field(default_factory=list)
    races: dict = field(default_factory=dict)
    log: str = ""

    def is_settled(self, exercise: Marking) -> bool:
        """Whether `exercise` has no open question."""
        name = exercise.name
        if exercise.manual or name in self.failed or name in self.absent or name in self.hung:
            return True
        if None in self.results[name]:
            return False
        racing = exercise.race is not None and not any(r.problem for r in self.results[name])
        return not racing or name in self.races


def ask_all(lab: Lab, rebuilt: Rebuilt, secret: bytes, sandbox: Callable) -> Outcomes:
    """Return `Outcomes`: every exercise of `lab` that isn't a person's to mark, asked of the `rebuilt` submission."""
    outcomes = Outcomes()
    for exercise in lab.exercises:
        if not exercise.manual:
            _draw(exercise, secret, outcomes)
    with Judge(lab, sandbox) as judge:
        _settle(lab, rebuilt, secret, sandbox, judge, outcomes)
    for exercise in lab.exercises:
        if not outcomes.is_settled(exercise):
            why = "too many cells of this notebook hang, or end the Python they run in"
            outcomes.hung[exercise.name] = ("timed_out", why)
    return outcomes


def _settle(lab, rebuilt, secret, sandbox, judge, outcomes):
    """Ask in rounds, until all is settled or there were too many."""
    for _ in range(2 * len(lab.exercises) + SPARE_ROUNDS):
        open_ = [exercise for exercise in lab.exercises if not outcomes.is_settled(exercise)]
        to_ask = [exercise for exercise in open_ if None in outcomes.results[exercise.name]]
        if to_ask:
            try:
                rebuilt = _round(lab, rebuilt, to_ask, outcomes, sandbox, judge)
            except (ValueError, OSError) as failure:
                # a file or module that the lab names isn't there; no process to be had
                outcomes.failed.update({e.name: f"its sandbox could not be made: {failure}" for e in to_ask})
        elif open_:
            _race(lab, rebuilt, open_[0], outcomes, sandbox, secret, judge)
        else:
            return


def _draw(exercise, secret, outcomes):
    try:
        cases = list(exercise.cases(drawing(secret, exercise.name)))
        for case in cases:  # a case that can't be asked is found here, not in the middle
            pack((case.arguments, dict(case.files)))
            exercise.kind(case).plan()
    except Exception as failure:  # a lab's own code; whatever it raises is the lab's fault
        outcomes.failed[exercise.name] = f"drawing its questions failed: {type(failure).__name__}: {failure}"
        return
    outcomes.cases[exercise.name], outcomes.results[exercise.name] = cases, [None] * len(cases)


def _round(lab, rebuilt, open_, outcomes, sandbox, judge):
    """Ask the open questions in one sandbox; return the submission as the next one runs it."""
    steps = rebuilt.steps
    seconds = sum(e.seconds * len(outcomes.cases[e.name]) for e in open_)
    with SandboxedSubmission(lab, [step.text for step in steps], sandbox, seconds) as submission:
        try:
            submission.run_cells()
            _ask_open(steps, open_, outcomes, submission, judge)
        except SetUpFailed as failure:
            outcomes.failed.update({e.name: f"the sandbox could not be set up: {failure}" for e in open_})
        except Stopped as stopped:
            rebuilt = _without_the_cell(rebuilt, stopped, open_, outcomes)
    outcomes.log = (outcomes.log + submission.ended.stdout + submission.ended.stderr)[-LOG:]
    return rebuilt


def _without_the_cell(rebuilt, stopped, open_, outcomes):
    if stopped.cell is None or stopped.cell >= len(rebuilt.steps):
        outcomes.hung.update({exercise.name: (stopped.state, stopped.why) for exercise in open_})
        return rebuilt
    step = rebuilt.steps[stopped.cell]
    if step.exercise is not None:
        outcomes.hung[step.exercise] = (stopped.state, f"its cell: {stopped.why}")
    else:
        first = next((line for line in step.text.splitlines() if line.strip()), "")
        outcomes.left_out.append(f"the cell that begins with {first[:60]!r} was left out: {stopped.why}")
    return rebuilt.without(step)


def _ask_open(steps, open_, outcomes, submission, judge):
    for exercise in open_:
        try:
            if not _ask(exercise, steps, outcomes, submission, judge):
                return  # the others are asked in the next round
        except SandboxUnavailable:
            raise
        except JudgeFailed as failure:  # of the lab's own solution, too
            outcomes.failed[exercise.name] = f"{_judge_of(exercise)} {failure}"
        except Exception as failure:  # what an answer works against, or the words of a question: the lab's own code
            outcomes.failed[exercise.name] = f"asking it failed: {type(failure).__name__}: {failure}"


def _judge_of(exercise):
    stated = exercise.statement
    judge = stated.judge or stated.accepts
    kind, judge = ("judge", judge) if judge else ("oracle", stated.expected)
    return f"its {kind} {getattr(judge, '__name__', '')}".rstrip()


def _ask(exercise, steps, outcomes, submission, judge):
    """Ask one exercise; return whether this sandbox can be asked more."""
    results = outcomes.results[exercise.name]
    for number, case in enumerate(outcomes.cases[exercise.name]):
        if results[number] is not None:
            continue
        try:
            answer = submission.ask(exercise, case)
        except Stopped as stopped:
            problem = f"{exercise.statement.question(case)}: {stopped.why}"
            _give_up_group(exercise, outcomes, number, Result(problem, stopped.state))
            return False
        if answer.kind == "absent":
            mine = [number for number, step in enumerate(steps) if step.exercise == exercise.name]
            errors = [submission.errors[number] for number in mine if number in submission.errors]
            outcomes.absent[exercise.name] = errors[-1] if errors else ""
            break
        try:
            results[number] = Result(judge.problem(exercise, case, answer))
            gives_up = not exercise.asks_on and results[number].problem is not None
        except NotJudged as wrong:
            results[number], gives_up = Result(str(wrong)), True
        if gives_up:
            _give_up_group(exercise, outcomes, number, results[number])
    return True


def _give_up_group(exercise, outcomes, number, result):
    # one wrong case loses its group, so the group's other questions need neither sandbox nor judge each to hang in
    cases, results = outcomes.cases[exercise.name], outcomes.results[exercise.name]
    for other, case in enumerate(cases):
        if results[other] is None and case.group == cases[number].group:
            results[other] = Result("not asked", result.stopped)
    results[number] = result


def _race(lab, rebuilt, exercise, outcomes, sandbox, secret, judge):
    case, draw = outcomes.cases[exercise.name][-1], drawing(secret, f"{exercise.name} race")
    try:
        cells = [step.text for step in rebuilt.steps]
        outcomes.races[exercise.name] = Result(race(lab, cells, exercise, case, sandbox, draw, judge))
    except Stopped as stopped:
        outcomes.races[exercise.name] = Result(f"in the race: {stopped.why}", stopped.state)
    except WrongInRace as wrong:
        outcomes.races[exercise.name] = Result(str(wrong), wrong=True)
    except NotJudged as wrong:
        outcomes.races[exercise.name] = Result(f"in the race, {wrong}", wrong=True)
    except SandboxUnavailable:
        raise
    except Exception as failure:  # of the lab's own `chain`, reference or judge
        outcomes.failed[exercise.name] = f"the race failed: {type(failure).__name__}: {failure}"
