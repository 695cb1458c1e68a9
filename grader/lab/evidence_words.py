"""What an exercise is marked by, in words: the column of a release's table, made from the marking itself."""

import re

from grader.lab.secret_draw import drawing
from grader.lab.spec import VALUE, Marking

_TOKENS = re.compile(r"[0-9a-z]+|[^0-9a-z]+")


def marked_by(exercise: Marking) -> str:
    """Return the kind of evidence that is asked of `exercise`, and where it is taken."""
    if exercise.manual:
        return "a person reads it"
    cases = exercise.cases(drawing(b"table", exercise.name))
    kind = _together([exercise.kind(case).describe() for case in cases])
    if exercise.host is not None:
        return f"{kind}; and what a second process saw: {exercise.host.seen.describe()}"
    if exercise.race is not None:
        return f"{kind}; and its speed, as a ratio, timed outside: {exercise.race.times:g} times the reference's"
    if exercise.call not in (None, VALUE):
        return f"{kind}, from a run that the grader steers"
    return kind


def _together(texts):
    """Return one text for all of `texts`: sizes that differ from case to case are `any`."""
    found = [_TOKENS.findall(text) for text in dict.fromkeys(texts)]
    if len({len(tokens) for tokens in found}) > 1:
        return " or ".join(dict.fromkeys(texts))
    return "".join(tokens[0] if len(set(tokens)) == 1 else "any" for tokens in zip(*found, strict=True))
