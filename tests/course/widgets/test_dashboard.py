"""The dashboard: its numbers are the training's, it prints lines where there is no notebook, its button stops."""

from functools import partial

import pytest
import torch

from course.training import StopAtStep, linear_regression, train_in_turns
from course.widgets import Dashboard
from tests.course.widgets.page_of import Line

SGD = partial(torch.optim.SGD, lr=0.02)
TURNS = partial(train_in_turns, linear_regression(), optimizer=SGD)


class Page(Line):
    """A page that can press the button."""

    def __init__(self, dashboard, presses_at=None):
        super().__init__()
        self.dashboard, self.presses_at = dashboard, presses_at

    def send(self, message, buffers=()):
        """Take what the kernel tells."""
        super().send(message)
        if self.presses_at is not None and self.dashboard.watch.step >= self.presses_at:
            self.presses_at = None  # once: a press is answered, too
            self.dashboard._heard(self, {"do": "stop", "with": []}, [])


@pytest.fixture
def in_notebook(monkeypatch):
    """As if a notebook showed it; its outputs are what is displayed."""
    monkeypatch.setattr("course.widgets.dashboard._in_notebook", lambda: True)
    monkeypatch.setattr("course.widgets.dashboard._displayed", lambda dashboard: None)


def test_the_page_has_the_training_s_numbers(in_notebook):
    dashboard = Dashboard("three in turns")
    result = TURNS(workers=3, total_steps=300, hooks=[dashboard])
    answer = dashboard.answer(dashboard.watch)
    assert answer["figure"] == "three in turns: 300 of 300 updates" and answer["limit"] == 300
    assert "staleness 2.0 on average, 2 at most" in answer["small"]
    counts = result.staleness_counts()
    assert answer["staleness"] == [round(counts[age] / 300, 4) for age in range(3)] and not answer["more"]
    assert set(answer["losses"]) == {0, 1, 2} and answer["losses"][0][0][0] == 1
    assert all(rate > 0 for _, rate in answer["rates"])


def test_it_grows_while_it_trains_and_says_when_it_is_over(in_notebook):
    dashboard = Dashboard()
    dashboard._wire = page = Page(dashboard)
    TURNS(total_steps=200, hooks=[dashboard])
    assert 0 < page.sent[0]["busy"] < 1 and "busy" not in page.sent[-1]
    assert page.sent[-1]["answer"]["figure"] == "200 of 200 updates"
    dashboard._wire = None


def test_its_button_ends_the_training_and_the_picture_says_so(in_notebook):
    dashboard = Dashboard()
    dashboard._wire = Page(dashboard, presses_at=1)
    result = TURNS(total_steps=10**7, hooks=[dashboard])
    dashboard._wire = None
    assert result.stopped_by == "by the dashboard's button" and result.version < 10**6
    shown = dashboard.static()
    assert "Stopped: by the dashboard's button." in shown.alt and "<svg" in shown.html


def test_without_a_notebook_it_prints_lines_and_the_last_one(capsys):
    TURNS(total_steps=10**7, hooks=[StopAtStep(120), Dashboard()])
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("/job:worker/task:0 has joined") and said[-1] == "120 of 120 updates"


def test_it_may_be_used_again_and_begins_anew(in_notebook):
    dashboard = Dashboard()
    for steps in (50, 80):
        TURNS(total_steps=steps, hooks=[dashboard])
        assert dashboard.watch.step == sum(dashboard.watch.staleness.values()) == steps


def test_before_a_training_it_says_that_none_has_begun():
    assert "0 of 0 updates" in repr(Dashboard()) and "begins" in Dashboard()._shown().html
