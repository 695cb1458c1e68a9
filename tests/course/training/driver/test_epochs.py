"""Epochs: how many updates they are, and their table of time and accuracy."""

from functools import partial

import pytest
import torch

from course.training import Validate, linear_regression, mnist, train_in_turns
from course.training.driver.epochs import table, updates_of_an_epoch
from course.training.records import TrainingSettings


class Line(type(linear_regression())):
    def validate(self, parameters):
        return {"slope": parameters["slope"].item()}


@pytest.mark.parametrize(
    ("mode", "workers", "aggregate", "updates"),
    [("async", 1, None, 5), ("async", 3, None, 15), ("sync", 3, None, 5), ("sync", 4, 2, 10), ("sync", 1, 1, 5)],
)
def test_in_an_epoch_each_worker_computes_as_many_gradients_as_the_data_have_batches(mode, workers, aggregate, updates):
    assert updates_of_an_epoch(linear_regression(), TrainingSettings(mode, workers, 1, aggregate=aggregate)) == updates


def test_digits_have_forty_batches_and_a_problem_that_does_not_say_is_refused():
    assert updates_of_an_epoch(mnist(), TrainingSettings("async", 1, 1)) == 40
    with pytest.raises(ValueError, match="--epochs: <object .* Give --steps, or give the problem .*batches_per_epoch"):
        updates_of_an_epoch(object(), TrainingSettings("async", 1, 1))


def test_the_table_has_each_epoch_s_end_mean_loss_and_what_was_validated_then():
    line, validate = linear_regression(), Validate(every=10)
    line = Line(line.x, line.y, 2.0, 10.0, 20)
    sgd = partial(torch.optim.SGD, lr=0.02)
    result = train_in_turns(line, optimizer=sgd, workers=2, total_steps=35, hooks=[validate])
    head, *rows = [text.split() for text in table(result, 10, validate)]
    assert head == ["epoch", "seconds", "train", "loss", "slope"] and len(rows) == 3
    losses = result.history["loss"].reshape(-1)
    for epoch, (number, seconds, loss, slope) in enumerate(rows, 1):
        assert int(number) == epoch and float(seconds) >= 0
        assert float(loss) == pytest.approx(losses[10 * epoch - 10 : 10 * epoch].mean(), abs=1e-4)
        assert float(slope) == pytest.approx(dict(validate.results)[10 * epoch]["slope"], abs=1e-4)
    assert [text.split()[:3] for text in table(result, 20, None)][1][0] == "1"
