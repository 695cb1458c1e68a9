"""Chapter 01's exercises: right answers pass, plausible wrong ones meet a counterexample."""

from course.checks.discovery import load_part
from notebooks.build import HERE
from tests.notebooks.checked import three_tests

oracles = load_part(HERE, "ch01_devices_checks")


def products(op):
    return op.inputs[0].shape[0] * op.inputs[0].shape[1] * op.inputs[1].shape[1]


def computing(log, device):
    return [r for r in log if r.device == device and not r.view and not r.bytes_moved]


RIGHT = {"ran_on": oracles._ran_on, "by_size": oracles._by_size}
WRONG = [
    ("ran_on", lambda log, d: [r.op for r in log if r.device == d and not r.view]),  # copies counted as ops
    ("ran_on", lambda log, d: [r.op for r in log if r.device == d and not r.bytes_moved]),  # views counted as ops
    ("ran_on", lambda log, d: [r.op for r in log if not r.view and not r.bytes_moved]),  # any device
    ("ran_on", lambda log, d: [r.op for r in computing(log, d) if not r.backward]),
    ("by_size", lambda op: "/gpu:0" if op.name == "matmul" and products(op) > 10**6 else "/cpu:0"),  # not: at least
    ("by_size", lambda op: "/gpu:0" if sum(t.numel() for t in op.inputs) >= 20_000 else "/cpu:0"),  # every large op
    ("by_size", lambda op: "/gpu:0" if op.name == "matmul" else "/cpu:0"),  # every product
    ("by_size", lambda op: "/gpu:0" if op.inputs[0].numel() >= 10**6 else "/cpu:0"),  # fails without inputs
]


test_a_right_answer_passes, test_a_plausible_wrong_answer_is_noticed, test_a_stub_is_not_yet_an_answer = three_tests(
    RIGHT, WRONG
)
