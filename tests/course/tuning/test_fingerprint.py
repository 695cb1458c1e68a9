"""The fingerprint of a problem: its data and its code change it, and neither where it stands nor the process."""

import functools
import pickle
import subprocess
import sys

import pytest

from course.training import linear_regression, mnist, paced
from course.tuning.fingerprint import fingerprint

CODE = """
import torch
FACTOR = 2
def scaled(x):
    return FACTOR * x
class Mine:
    def __init__(self, bias=0.0):
        self.data, self.bias, self.names = torch.arange(4.0), bias, {"a", "b", "c"}
        self.itself = self
    def initial(self):
        return {"w": torch.zeros(1)}
    def batch(self, worker, version, generator):
        return self.data[version % 4]
    def loss(self, parameters, batch):
        return sum(scaled(x) for x in parameters["w"] - batch)
"""


def of(code=CODE, bias=0.0, change=lambda problem: None):
    names = {"__name__": "mine"}
    exec(compile(code, "anywhere", "exec"), names)
    problem = names["Mine"](bias)
    change(problem)
    return fingerprint(problem)


@pytest.mark.parametrize(
    "other",
    [
        {"code": CODE.replace("FACTOR = 2", "FACTOR = 3")},
        {"code": CODE.replace("FACTOR * x", "FACTOR + x")},
        {"code": CODE.replace("version % 4", "version % 3")},
        {"bias": 0.5},
        {"change": lambda problem: problem.data.add_(1e-6)},
        {"change": lambda problem: setattr(problem, "data", problem.data.double())},
    ],
)
def test_it_changes_with_the_code_that_a_problem_calls_and_with_its_data(other):
    assert of() == of(code="# a comment\n" + CODE) and of() != of(**other)


def test_it_is_the_same_in_another_process():
    program = "from tests.course.tuning.test_fingerprint import of; print(of())"
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == of()


def test_problems_of_the_course_and_what_makes_them_have_one_too():
    line = linear_regression()
    assert fingerprint(line) == fingerprint(linear_regression()) != fingerprint(linear_regression(noise=0.5))
    pickle.dumps(line)  # which leaves a mark on the class
    assert fingerprint(line) == fingerprint(linear_regression())
    assert fingerprint(paced(line)) != fingerprint(paced(linear_regression(noise=0.5)))
    makers = [mnist, functools.partial(mnist, hidden=3), functools.partial(mnist, hidden=4), linear_regression]
    assert len({fingerprint(make) for make in makers}) == 4
