"""Every limit on waiting keeps its place in the order, and is one that a wait can have."""

import ast
from pathlib import Path

import pytest

import course
from course import deadlines, deadlines_of_services
from course.deadline_order import ORDER

LIMITS = {name: value for name, value in vars(deadlines).items() if name.isupper() and isinstance(value, float)}


@pytest.mark.parametrize("chain", ORDER)
def test_the_limits_are_in_the_order_that_is_stated(chain):
    assert eval(chain, {}, dict(LIMITS)), ORDER[chain]


def test_every_limit_is_a_number_of_seconds_with_its_reason_above_it():
    files = (deadlines.__file__, deadlines_of_services.__file__)
    lines = [line for file in files for line in Path(file).read_text(encoding="utf-8").splitlines()]
    for name, value in LIMITS.items():
        assert 0 < value <= 3600
        place = next(number for number, line in enumerate(lines) if line.startswith(f"{name} = "))
        assert lines[place - 1].startswith("#: "), name


def test_every_limit_is_used_where_it_is_imported_and_none_is_left_over():
    used = set()
    for path in Path(course.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "course.deadlines":
                used |= {alias.name for alias in node.names}
    stated = {word for chain in ORDER for word in chain.split()}
    assert LIMITS.keys() <= used | stated
