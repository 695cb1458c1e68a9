"""The regression widget: real processes behind it, its state from Python, its stop, and its end."""

import time

import numpy
import pytest

from course.widgets import RegressionLab
from tests.course.widgets.lab_processes import assert_ended, below


@pytest.fixture(scope="module")
def lab(no_leaks_from_this_file):
    widget = RegressionLab(workers=2, steps=200)
    yield widget.wait()
    widget.close()


def test_it_trains_at_once_and_shows_the_line(lab):
    lab.learning_rate = 0.05
    lab.wait()
    assert lab.result.version == 200 and lab.result.workers == 2
    assert "the line is found" in lab.static().alt and "<svg" in lab.static().html


def test_the_page_has_the_last_training_as_numbers(lab):
    ((settings, answer),) = lab.stored()
    assert settings == lab.state() and set(answer["losses"]) == {0, 1}
    line = [lab.result.parameters[name].item() for name in ("slope", "intercept")]
    assert answer["right"] and answer["line"] == line and sum(answer["staleness"]) == pytest.approx(1, abs=1e-3)
    assert {"x", "y", "best", "rates", "updates"} <= lab.data().keys() and lab.learning_rate in lab.data()["rates"]


def test_setting_the_state_from_python_or_from_the_page_trains_again(lab):
    lab.mode = "sync"
    lab.wait()
    assert lab.result.mode == "sync" and set(lab.result.staleness.tolist()) == {0}
    lab._heard(None, {"number": 1, "settings": {**lab.state(), "workers": 3}}, [])
    assert lab.wait().result.workers == lab.workers == 3
    lab.set_trait("mode", "async")
    lab.wait()


def test_the_slow_worker_contributes_less(lab):
    lab.slow, lab.workers = True, 2
    result = lab.wait().result
    slow, quick = result.of_worker(1), result.of_worker(0)
    # where a busy machine holds the quick one up, the slow one's own pace tells
    assert len(slow) < len(quick) or numpy.median(numpy.diff(slow["applied"])) >= 0.005
    lab.slow = False
    lab.wait()


def test_a_learning_rate_that_diverges_is_told_and_not_drawn_as_a_line(lab):
    lab.learning_rate, lab.steps = 3.0, 3000
    lab.wait()
    assert "not finite" in lab.static().alt and "not found" in lab.static().alt
    lab.learning_rate, lab.steps = 0.05, 150
    lab.wait()


def test_stop_ends_a_long_training_soon_and_keeps_what_there_is(lab):
    lab.steps = 100_000
    time.sleep(0.5)
    lab.stop()
    assert lab.wait(60).result.version < 100_000
    lab.steps = 150
    assert lab.wait().result.version == 150


def test_a_cell_that_is_run_again_ends_the_processes_of_the_lab_before_and_closing_ends_its_own():
    others = below()
    first = RegressionLab(steps=50).wait()  # whose name a cell that is run again would take
    of_the_first = below() - others
    second = RegressionLab(steps=50).wait()
    assert_ended(of_the_first)
    assert len(of_the_first) >= 4 and first.result.version == second.result.version == 50
    second.close()
    second.close()
    assert_ended(below() - others)
