"""From what was asked of one exercise to its mark: the state, the points, and the reason in words."""

import re
from dataclasses import dataclass

from grader.inside.values import pack
from grader.lab.spec import Marking
from grader.marking.rounds import Outcomes
from grader.submission.rebuild import Rebuilt

REASON = 2000  # characters
ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}\b")


@dataclass(frozen=True)
class ExerciseMark:
    """One exercise's mark: `state` is one of `mark.STATES`, `reason` the smallest counterexample or what went wrong.

    `cases`: for each question {"group": …, "edge": …, "right": …}. `manual`: a person gives the score.
    """

    name: str
    state: str
    score: float
    max_score: float
    reason: str = ""
    cases: tuple[dict, ...] = ()
    manual: bool = False


def verdict(exercise: Marking, outcomes: Outcomes, rebuilt: Rebuilt) -> ExerciseMark:
    """Return the mark of `exercise`, from the `outcomes` of asking the `rebuilt` submission."""
    name = exercise.name
    beside = "".join(f" Note: {cell}." for cell in outcomes.left_out)
    if exercise.manual:
        state = "graded" if rebuilt.answered[name] == "changed" else "missing"
        return _mark(exercise, state, "A person marks this one.")
    if name in outcomes.failed:
        return _mark(exercise, "grader_failed", f"Our side failed, mark it again: {outcomes.failed[name]}.")
    if name in outcomes.hung:
        state, why = outcomes.hung[name]
        return _mark(exercise, state, f"{name}: {why}.{beside}")
    if error := outcomes.absent.get(name):
        return _mark(exercise, "crashed", f"Its cell failed: {error}.{beside}")
    if name in outcomes.absent:
        return _mark(exercise, "missing", f"The notebook defines no {exercise.entry}.{beside}")
    return _answered(exercise, outcomes, rebuilt)


def _mark(exercise, state, reason, share=0.0, cases=()):
    points = exercise.points or 0
    return ExerciseMark(exercise.name, state, round(points * share, 4), points, _cut(reason), cases, exercise.manual)


def _answered(exercise, outcomes, rebuilt):
    cases, results = outcomes.cases[exercise.name], outcomes.results[exercise.name]
    right = [result.problem is None for result in results]
    raced = outcomes.races.get(exercise.name)
    # a wrong answer runs no race, which loses it
    lost = exercise.race is not None and (raced is None or bool(raced.problem))
    share = 0.0 if _is_wrong_where_timed(exercise, cases, results, raced) else exercise.share(cases, right, lost)
    case_results = tuple({"group": c.group, "edge": c.edge, "right": r} for c, r in zip(cases, right, strict=True))
    if all(right) and not (raced and raced.problem):
        return _mark(exercise, "graded", f"{len(cases)} questions, all right.", share, case_results)
    if share == 0 and rebuilt.answered[exercise.name] == "as released":
        return _mark(exercise, "missing", "The cell is as released: not answered.", 0.0, case_results)
    stopped = [result.stopped for result in [*results, *([raced] if raced else [])] if result.stopped]
    state = stopped[0] if stopped and share == 0 else "graded"
    broken = [name for name in exercise.needs if _is_broken(name, outcomes)]
    needs = f" It builds on {' and '.join(broken)}, not right yet." if broken else ""
    return _mark(exercise, state, f"{_smallest(cases, results) or raced.problem}.{needs}", share, case_results)


def _is_wrong_where_timed(exercise, cases, results, raced):
    # students know the size that is timed: an answer that is wrong there, and not only slow, gets nothing
    if exercise.race is None:
        return False
    if raced is not None and raced.wrong:
        return True
    timed = [r for c, r in zip(cases, results, strict=True) if c.group == exercise.race.group]
    return any(r.problem and not r.stopped for r in timed)


def _smallest(cases, results):
    """Return the problem that is the shortest to read, if any: what was asked, what came and what was expected."""
    wrong = [
        (len(r.problem), len(pack(c.arguments)), r.problem)
        for c, r in zip(cases, results, strict=True)
        if r.problem and r.problem != "not asked"
    ]
    return min(wrong)[-1] if wrong else None


def _is_broken(name, outcomes):
    return (
        name in outcomes.hung or name in outcomes.absent or any(r and r.problem for r in outcomes.results.get(name, []))
    )


def _cut(text):
    # a student's text may hold anything: no colours for a terminal, nothing that turns text around
    text = ADDRESS.sub("", text)  # marked again, the reason is the same
    plain = "".join(character if character.isprintable() or character == "\n" else "?" for character in text)
    return plain if len(plain) <= REASON else plain[: REASON - 2] + " …"
