"""Chapter 01's exercises: right answers pass, plausible wrong ones meet a counterexample."""

import pytest

from course.checks import check
from course.checks.discovery import load_part
from notebooks.build import HERE

oracles = load_part(HERE, "ch01_devices_checks")


def named(name, function):
    function.__name__ = name
    return function


@pytest.mark.parametrize("name", ["ran_on", "by_size"])
def test_the_slow_reference_passes_and_a_stub_is_not_yet_written(name):
    assert check(named(name, getattr(oracles, f"_{name}")))
    assert check(named(name, lambda *_: None)).state == "not yet"


WRONG = {
    "copies counted as ops": ("ran_on", lambda log, d: [r.op for r in log if r.device == d and not r.view]),
    "views counted as ops": ("ran_on", lambda log, d: [r.op for r in log if r.device == d and not r.bytes_moved]),
    "any device": ("ran_on", lambda log, d: [r.op for r in log if not r.view and not r.bytes_moved]),
    "backward left out": (
        "ran_on",
        lambda log, d: [r.op for r in log if r.device == d and not (r.view or r.bytes_moved or r.backward)],
    ),
    "more than, not at least": (
        "by_size",
        lambda op: "/gpu:0" if op.name == "matmul" and _products(op) > 10**6 else "/cpu:0",
    ),
    "every large op": (
        "by_size",
        lambda op: "/gpu:0" if sum(t.numel() for t in op.inputs) >= 20_000 else "/cpu:0",
    ),
    "every product": ("by_size", lambda op: "/gpu:0" if op.name == "matmul" else "/cpu:0"),
    "an op without inputs": ("by_size", lambda op: "/gpu:0" if op.inputs[0].numel() >= 10**6 else "/cpu:0"),
}


def _products(op):
    return op.inputs[0].shape[0] * op.inputs[0].shape[1] * op.inputs[1].shape[1]


@pytest.mark.parametrize("mistake", WRONG)
def test_a_plausible_mistake_is_found(mistake):
    name, answer = WRONG[mistake]
    verdict = check(named(name, answer))
    assert verdict.state == "wrong", verdict
