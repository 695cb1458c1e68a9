"""From what was asked of one exercise to its mark: the state, the share of its points, and the reason in words."""

import re
from dataclasses import dataclass

from grader.inside.values import pack
from grader.lab.spec import Lab, Marking
from grader.marking.rounds import Asked
from grader.submission.rebuild import Rebuilt

REASON = 2000  # characters
ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}\b")


@dataclass(frozen=True)
class Verdict:
    """`share` of the points, 0 to 1; `state` and `reason` as in `mark.ExerciseMark`."""

    state: str
    share: float
    reason: str = ""
    cases: tuple[dict, ...] = ()


def verdict(lab: Lab, exercise: Marking, asked: Asked, rebuilt: Rebuilt) -> Verdict:
    """Return the `Verdict` on `exercise`, from `asked` (`rounds.Asked`) of the `rebuilt` submission."""
    name = exercise.name
    if exercise.manual:
        missing = rebuilt.answered[name] != "changed"
        return Verdict("missing" if missing else "graded", 0.0, "A person marks this one.")
    if name in asked.failed:
        return Verdict("grader_failed", 0.0, _cut(f"Our side failed, mark it again: {asked.failed[name]}."))
    if name in asked.hung:
        state, why = asked.hung[name]
        return Verdict(state, 0.0, _cut(f"{name}: {why}.{_beside(asked)}"))
    if name in asked.absent:
        return _not_there(exercise, asked, rebuilt)
    return _answered(lab, exercise, asked, rebuilt)


def _not_there(exercise, asked, rebuilt):
    error = asked.absent[exercise.name]
    if error:
        return Verdict("crashed", 0.0, _cut(f"Its cell failed: {error}.{_beside(asked)}"))
    return Verdict("missing", 0.0, _cut(f"The notebook defines no {exercise.entry}.{_beside(asked)}"))


def _answered(lab, exercise, asked, rebuilt):
    cases, results = asked.cases[exercise.name], asked.results[exercise.name]
    right = [result.problem is None for result in results]
    raced = asked.races.get(exercise.name)
    # a wrong answer runs no race, which loses it
    lost = exercise.race is not None and (raced is None or bool(raced.problem))
    share = 0.0 if _is_wrong_where_timed(exercise, cases, results) else exercise.share(cases, right, lost)
    told = tuple({"group": c.group, "edge": c.edge, "right": r} for c, r in zip(cases, right, strict=True))
    if all(right) and not (raced and raced.problem):
        return Verdict("graded", share, f"{len(cases)} questions, all right.", told)
    if share == 0 and rebuilt.answered[exercise.name] == "as released":
        return Verdict("missing", 0.0, "The cell is as released: not answered.", told)
    stopped = [result.stopped for result in [*results, *([raced] if raced else [])] if result.stopped]
    state = stopped[0] if stopped and share == 0 else "graded"
    reason = _smallest(cases, results) or raced.problem
    return Verdict(state, share, _cut(f"{reason}.{_builds_on(lab, exercise, asked)}"), told)


def _is_wrong_where_timed(exercise, cases, results):
    # the size that is timed is known: who is wrong there, and not only slow, is not right elsewhere
    if exercise.race is None:
        return False
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


def _builds_on(lab, exercise, asked):
    broken = [name for name in exercise.needs if _is_broken(name, asked)]
    return f" It builds on {' and '.join(broken)}, not right yet." if broken else ""


def _is_broken(name, asked):
    return name in asked.hung or name in asked.absent or any(r and r.problem for r in asked.results.get(name, []))


def _beside(asked):
    return "".join(f" Note: {one}." for one in asked.left_out)


def _cut(text):
    # what a student's code said may hold anything: no colours for a terminal, nothing that turns text around
    text = ADDRESS.sub("", text)  # marked again, it is told the same
    plain = "".join(one if one.isprintable() or one == "\n" else "?" for one in text)
    return plain if len(plain) <= REASON else plain[: REASON - 2] + " …"
