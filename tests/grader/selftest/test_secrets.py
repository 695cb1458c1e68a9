"""The self-test counts for how many secrets a wrong answer passes."""

import pytest

from grader.selftest.secrets import passes

CELLS = ("import numpy as np", "OFFSET = 3")


@pytest.mark.parametrize(
    ("answer", "least", "most"),
    [
        ("2 * values", 30, 30),
        ("2 * values + 1", 0, 0),
        ("2 * values if len(values) < 5 else exit()", 0, 0),
        ("2 * values if len(values) < 5 or values[0] > 0 else 0 * values", 5, 25),  # right for about half of the draws
    ],
)
def test_an_answer_passes_for_as_many_secrets_as_it_is_right_for(small, box, answer, least, most):
    cells = [*CELLS, f"def double(values):\n    return {answer}"]
    assert least <= passes(small, small.exercise("double"), cells, 0.0, box, 30) <= most
