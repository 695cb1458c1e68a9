"""The checks of chapter 05 pass right answers and catch plausible wrong ones."""

from math import ceil, pi, sqrt

import pytest

from course import check

ONE = 4 * sqrt(pi / 4 * (1 - pi / 4))


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (lambda inside, n: 4 * sqrt(inside / n * (1 - inside / n) / n), "passed"),
        (lambda inside, n: sqrt(inside / n * (1 - inside / n) / n), "wrong"),  # of the share, not of pi
        (lambda inside, n: 4 * sqrt(inside / n * (1 - inside / n)), "wrong"),  # of one dart
        (lambda inside, n: ONE / sqrt(n), "wrong"),  # as if pi were known
        (lambda inside, n: ..., "not yet"),
    ],
)
def test_a_standard_error_is_that_of_four_times_the_share(body, state):
    assert check(body, "standard_error").state == state


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (lambda wish: ceil((ONE / wish) ** 2), "passed"),
        (lambda wish: ceil((1.642 / wish) ** 2), "passed"),
        (lambda wish: ceil(ONE / wish), "wrong"),
        (lambda wish: 4 * ceil((ONE / wish) ** 2), "wrong"),
        (lambda wish: (ONE / wish) ** 2, "wrong"),
        (lambda wish: None, "not yet"),
    ],
)
def test_the_price_of_a_wish_is_neither_too_low_nor_too_high(body, state):
    assert check(body, "darts_for").state == state


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (lambda k, n, darts: (darts * k // n, darts * (k + 1) // n), "passed"),
        (
            lambda k, n, darts: (k * (darts // n) + min(k, darts % n), (k + 1) * (darts // n) + min(k + 1, darts % n)),
            "passed",
        ),
        (lambda k, n, darts: (0, darts // n), "wrong"),  # the same darts for everybody
        (lambda k, n, darts: (k * (darts // n), (k + 1) * (darts // n)), "wrong"),  # loses the rest
        (lambda k, n, darts: (darts * k // n, min(darts, darts * (k + 1) // n + 1)), "wrong"),  # overlaps
        (lambda k, n, darts: darts // n, "wrong"),
        (lambda k, n, darts: ..., "not yet"),
    ],
)
def test_a_fair_share_covers_every_dart_once(body, state):
    assert check(body, "share").state == state
