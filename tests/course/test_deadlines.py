"""Every limit on waiting keeps its place in the order, and is one that a wait can have."""

import ast
import re
from pathlib import Path

import pytest

from course.deadlines import ORDER

ROOT = Path(__file__).resolve().parents[2]


def limits_in(path):
    """Return {name: (seconds, has a reason)} of the limits that a file states: capitals, a number, `#:` above it."""
    text = path.read_text(encoding="utf-8")
    lines, limits = text.splitlines(), {}
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=float(seconds))) if name.isupper():
                limits[name] = (seconds, lines[node.lineno - 2].startswith("#: "))
    return limits


def every_limit():
    limits = {}
    for package in ("course", "modelserver"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for name, limit in limits_in(path).items():
                limits.setdefault(name, []).append(limit)
    return limits


LIMITS = every_limit()
NAMED = sorted({name for chain in ORDER for name in re.findall(r"[A-Z_]{2,}", chain)})


@pytest.mark.parametrize("chain", ORDER)
def test_the_limits_are_in_the_order_that_is_stated(chain):
    assert eval(chain, {}, {name: LIMITS[name][0][0] for name in NAMED}), ORDER[chain]


@pytest.mark.parametrize("name", NAMED)
def test_a_limit_stands_in_one_place_with_its_reason_above_it_and_is_at_most_an_hour(name):
    ((seconds, reasoned),) = LIMITS[name]
    assert 0 < seconds <= 3600 and reasoned


@pytest.mark.long
def test_what_stands_in_the_shared_place_is_used_by_several_rooms():
    users = {name: set() for name in limits_in(ROOT / "course/deadlines.py")}
    for path in [*(ROOT / "course").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "course.deadlines":
                for alias in node.names:
                    users.get(alias.name, set()).add(path.relative_to(ROOT).parts[:3])
    assert not [
        name for name, places in users.items() if len({place[1] for place in places}) < 2 and name != "NOTHING_LEFT"
    ]
