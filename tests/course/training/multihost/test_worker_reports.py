"""What a worker's role prints and writes of its own gradients: lines and curves of the versions that they name."""

import sys
from functools import partial

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from course.training import linear_regression, train_in_turns
from course.training.hooks.progress import parameters_in_words
from course.training.multihost.worker_reports import OwnParameters, OwnSummaries
from course.training.multihost.worker_thread import _Parking

LINE = linear_regression()
TURNS = partial(train_in_turns, optimizer=partial(torch.optim.SGD, lr=0.02))


def test_a_line_has_the_parameters_of_the_version_that_it_names_and_the_loss_on_them():
    lines = []
    whole = TURNS(_Parking(LINE, [OwnParameters(lines.append, 30)]), total_steps=100)
    assert len(lines) == 3
    for version, line in zip((30, 60, 90), lines, strict=True):
        parameters = TURNS(LINE, total_steps=version).parameters
        loss = whole.history["loss"][version]  # of the next update: it was computed with this version
        assert line == parameters_in_words(version, parameters, loss)
        assert line == f"step: {version}, slope: {parameters['slope']:g}, intercept: {parameters['intercept']:g}, " + (
            f"loss: {loss:g}"
        )


def test_a_restart_from_a_checkpoint_is_followed_and_a_multiple_that_was_stepped_over_is_said_at_the_next_version():
    lines = []
    report = OwnParameters(lines.append, 10)
    for version in (0, 9, 12, 13, 21, 4, 8, 11):
        report.gradient(version, {"w": torch.tensor([1.0, 2.0]), "many": torch.ones(16)}, 0.5)
    assert [line.split(",")[0] for line in lines] == ["step: 12", "step: 21", "step: 11"]
    assert lines[0] == "step: 12, w: 1 2, many: norm 4, loss: 0.5"


def test_each_worker_writes_its_own_mean_losses_and_rate_and_a_restart_overrides_what_was_undone(tmp_path):
    reports = [OwnSummaries(tmp_path / f"worker_{worker}") for worker in range(2)]
    for version in [*range(350), *range(120, 460)]:
        for worker, report in enumerate(reports):
            report.gradient(version, {}, float(version + worker))
    for worker, report in enumerate(reports):
        report.close()
        events = EventAccumulator(str(tmp_path / f"worker_{worker}"))
        events.Reload()
        curve = [(event.step, event.value) for event in events.Scalars("loss")]
        assert curve == [(100, 50 + worker), (200, 160 + worker), (300, 250.5 + worker), (400, 350.5 + worker)]
        assert all(event.value > 0 for event in events.Scalars("gradients_per_second"))


def test_what_writes_is_loaded_before_the_first_gradient_for_which_the_other_workers_do_not_wait(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    OwnSummaries(tmp_path)
    assert "torch.utils.tensorboard" in sys.modules


def test_a_folder_that_cannot_be_written_is_a_warning_and_the_worker_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="summaries can't be written"):
        assert TURNS(_Parking(LINE, [OwnSummaries(tmp_path / "file")]), total_steps=300).version == 300
