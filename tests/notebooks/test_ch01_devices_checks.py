"""Chapter 01's exercises: plausible wrong answers meet a counterexample."""

from course.checks import check
from tests.notebooks.checked import noticed


def products(op):
    return op.inputs[0].shape[0] * op.inputs[0].shape[1] * op.inputs[1].shape[1]


def computing(log, device):
    return [r for r in log if r.device == device and not r.view and not r.bytes_moved]


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


def test_one_backward_op_is_enough_to_tell_that_they_count():
    assert check(WRONG[3][1], "ran_on").message.count("OpRecord(") == 1


test_a_plausible_wrong_answer_is_noticed = noticed(WRONG)
