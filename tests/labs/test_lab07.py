"""Lab 07 holds what it promises, and the tasks that its product is split over note what they were asked."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.checks import check
from course.checks.discovery import load_part

LAB = Path(__file__).parents[2] / "labs/lab07_replicas"
oracles = load_part(LAB, "oracles")


def module(name):
    return load_part(LAB, name)


@pytest.fixture
def host():
    """Return what starts tasks of this process by plan; all are ended afterwards."""
    made, task_host = [], module("task_host")

    def start(tasks, together=False):
        made.append(task_host.Host({"tasks": tasks, "together": together}))
        return made[-1]

    yield start
    for one in made:
        one.seen()


def drive(port, a, b, count, entry):
    names = {}
    exec(module("marking").ASKING, names)
    return names["drive"](entry, port, a, b, count)


def test_tasks_note_what_they_are_asked_and_multiply(host):
    tasks = host(2)
    a, b = np.arange(6.0).reshape(3, 2), np.array([[1.0, 2.0], [0.0, -1.0]])
    made = drive(
        tasks.address, a, b, 2, lambda a, b, tasks: np.concatenate([tasks[0](a[:2], b), tasks[1](a[2:].tolist(), b)])
    )
    assert np.array_equal(made, a @ b)
    first, second = tasks.seen()
    assert first == [0, 2, oracles.digest(a[:2]), oracles.digest(b), True]
    assert second == [1, 1, oracles.digest(a[2:]), oracles.digest(b), True]


def test_a_task_that_is_alone_says_so_and_answers_all_the_same(host, monkeypatch):
    tasks = host(2, together=True)
    monkeypatch.setitem(type(tasks).work.__globals__, "WAITS", 0.1)
    one = np.ones((1, 1))
    assert drive(tasks.address, one, one, 2, lambda a, b, tasks: tasks[1](a, b)) == 1
    assert [entry[-1] for entry in tasks.seen()] == [False]


@settings(max_examples=30)
@given(st.integers(1, 12), st.floats(0.5, 20))
def test_the_stable_rate_is_the_one_that_theory_knows(delay, curvature):
    # 2 sin(pi / (4 delay + 2)) / curvature: where a root of the recursion crosses the unit circle
    rate = 2 * np.sin(np.pi / (4 * delay + 2)) / curvature
    assert oracles.judge_rate(rate, curvature, delay) is None
    assert "smaller" in oracles.judge_rate(1.02 * rate, curvature, delay)
    assert "larger" in oracles.judge_rate(0.98 * rate, curvature, delay)


def test_gradients_row_by_row_are_torchs():
    import torch

    draw = np.random.default_rng(0)
    parameters, x, labels = load_part(LAB, "cases").network(draw, (4, 3, 5), 9)
    tensors = [torch.tensor(one, requires_grad=True) for one in parameters]
    scores = torch.sigmoid(torch.tensor(x) @ tensors[0] + tensors[1]) @ tensors[2] + tensors[3]
    torch.nn.functional.cross_entropy(scores, torch.tensor(labels)).backward()
    wanted = np.concatenate([one.grad.numpy().ravel() for one in tensors])
    np.testing.assert_allclose(oracles.every_gradient(parameters, x, labels, [9])[1], wanted, rtol=1e-10, atol=1e-14)


def test_tasks_that_are_asked_in_turn_are_noticed_in_the_notebook(monkeypatch):
    monkeypatch.chdir(LAB)

    def product_by_tasks(a, b, tasks):
        return np.concatenate([task(rows, b) for task, rows in zip(tasks, np.array_split(a, len(tasks)), strict=True)])

    assert "was waited for before the others were asked" in check(product_by_tasks).message
