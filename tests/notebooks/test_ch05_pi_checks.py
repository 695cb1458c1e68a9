"""Chapter 05's checks notice a plausible wrong answer."""

from math import ceil, pi, sqrt

from course import check
from tests.notebooks.checked import noticed

ONE = 4 * sqrt(pi / 4 * (1 - pi / 4))  # the standard error of one dart

WRONG = [
    ("standard_error", lambda inside, n: sqrt(inside / n * (1 - inside / n) / n)),  # of the share, not of pi
    ("standard_error", lambda inside, n: 4 * sqrt(inside / n * (1 - inside / n))),  # of one dart
    ("standard_error", lambda inside, n: ONE / sqrt(n)),  # as if pi were known
    ("darts_for", lambda wish: ceil(ONE / wish)),
    ("darts_for", lambda wish: 4 * ceil((ONE / wish) ** 2)),
    ("darts_for", lambda wish: (ONE / wish) ** 2),
    ("share", lambda k, n, darts: (0, darts // n)),  # the same darts for everybody
    ("share", lambda k, n, darts: (k * (darts // n), (k + 1) * (darts // n))),  # loses the rest
    ("share", lambda k, n, darts: (darts * k // n, min(darts, darts * (k + 1) // n + 1))),  # overlaps
    ("share", lambda k, n, darts: darts // n),
]


test_a_plausible_wrong_answer_is_noticed = noticed(WRONG)


def test_other_right_answers_pass_too():
    assert check(lambda wish: ceil((1.642 / wish) ** 2), "darts_for")
    assert check(lambda k, n, darts: tuple(j * (darts // n) + min(j, darts % n) for j in (k, k + 1)), "share")
