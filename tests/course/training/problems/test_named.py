"""A problem by name on the command line: the course's, or a function of the reader's own."""

import pytest
import torch
from click.testing import CliRunner

from course.__main__ import main
from course.training.problems.named import named_problem
from course.training.problems.problem import shown

OWN = """
import torch
from course.training import linear_regression
number = 3
def make():
    return linear_regression()
def fails():
    raise ValueError("there is no such file")
def odd():
    return 3
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A function that returns the name of a new module of the reader's, with this text."""

    def write(text=OWN, name="a_readers_own"):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
        return name

    monkeypatch.syspath_prepend(tmp_path)
    return write


def test_a_function_of_the_readers_own_gives_the_problem(own):
    choice = named_problem(f"{own()}:make")
    problem = choice.make()
    assert repr(problem).startswith("LinearRegression(y = 2·x + 10")
    assert choice.made().func is torch.optim.SGD and choice.made(learning_rate=0.1).keywords == {"lr": 0.1}
    assert "loss on worker 0's first batch: " in next(choice.outcome(problem, problem.initial()))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("{}:nothing", "has no function nothing"),
        ("{}:number", "has no function number"),
        ("{}:make:it", "write package.module:function"),
        (":make", "write package.module:function"),
        ("{}:", "write package.module:function"),
        ("no_such_module:make", "No module named 'no_such_module'. It is looked for in this folder first"),
        ("{}:fails", r"ValueError: there is no such file (.*a_readers_own.py, line 8)"),
        ("{}:odd", "returned 3, which has no initial, batch, loss"),
        ("cubic", "your own is package.module:function"),
    ],
)
def test_what_is_wrong_with_ones_own_is_said_in_a_few_lines(own, name, words):
    done = CliRunner().invoke(main, ["train", "--problem", name.format(own())])
    output = " ".join(done.output.split())
    for part in words.split(".*"):
        assert part in output
    assert done.exit_code in (1, 2) and len(done.output.splitlines()) < 6


def test_a_mistake_in_the_readers_module_is_told_with_its_line(own):
    name = own("import torch\nthere is no such statement\n", "a_readers_mistake")
    done = CliRunner().invoke(main, ["train", "--problem", f"{name}:make"])
    assert done.exit_code == 1 and "SyntaxError" in done.output and "line 2" in done.output


ONE_OF_MANY = ["--ps-hosts", "localhost:7001", "--worker-hosts", "localhost:7002", "--task-index", "0", "--job-name"]


@pytest.mark.parametrize("role", [[], [*ONE_OF_MANY, "ps"], [*ONE_OF_MANY, "worker"]])
def test_what_cannot_be_validated_is_refused_before_anything_starts(role):
    done = CliRunner().invoke(main, ["train", "--validate", "500", *role])
    assert done.exit_code == 2 and "the problem linear has no validate(parameters)" in done.output


def test_a_problem_that_holds_data_is_shown_in_one_short_line():
    class Long:
        def __repr__(self):
            return "Long(\n" + "0, " * 10_000 + ")"

    assert len(shown(Long())) <= 100 and "\n" not in shown(Long())
