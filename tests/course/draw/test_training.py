"""Who waits, as numbers and as pictures; the training picture; the command."""

import numpy
import pytest
import torch
from click.testing import CliRunner

from course.__main__ import main
from course.commands.train import report
from course.draw import Seen, distance, learning, training
from course.draw.timeline import waiting_share
from course.draw.training import _apart as apart
from course.training.problems.named import named_problem
from course.training.records import RECORD

# worker 0 computes 1 s and waits 3 s; worker 1 computes 4 s and waits none; then both once more
SYNCHRONOUS = numpy.array(
    [(1, 0, 0, 9.0, 1.0, 4.0), (1, 1, 0, 8.0, 4.0, 4.0), (2, 0, 1, 3.0, 5.0, 8.0), (2, 1, 1, 2.0, 8.0, 8.0)],
    dtype=RECORD,
)


def test_the_share_of_waiting_is_by_worker():
    assert waiting_share(SYNCHRONOUS) == {0: 0.75, 1: 0.0}


def test_curves_of_accuracy_are_named_and_told_in_words_with_their_ends():
    server, ring = [Seen(1000, 0.5, 0.5), Seen(2000, 1.0, 0.91)], [Seen(1000, 0.2, 0.5), Seen(2000, 0.4, 0.875)]
    picture = learning({"server": server, "ring": ring}, "One is quicker", aim=0.9)
    assert repr(picture) == "[picture] One is quicker. server: 91.0% after 1 s; ring: 87.5% after 0.4 s."
    for words in ("server", "ring", "thousand images seen", "seconds", "held-out"):
        assert words in picture.html


def test_pictures_can_be_drawn_of_a_training_that_diverged_or_never_began():
    wild = SYNCHRONOUS.copy()
    wild["loss"][2:] = numpy.inf
    points = (torch.linspace(-1, 1, 5).numpy(), torch.linspace(1, 2, 5).numpy())
    for history in (wild, SYNCHRONOUS[:0]):
        assert "<svg" in training(history, "A title", points=points, line=None, best=(1, 2)).html


@pytest.mark.parametrize(
    "arguments", [["--workers", "0"], ["--problem", "cubic"], ["--learning-rate", "-1"], ["--steps", "x"]]
)
def test_the_command_names_what_is_wrong(arguments):
    done = CliRunner().invoke(main, ["train", *arguments])
    assert done.exit_code == 2 and arguments[0] in done.output


def test_the_command_starts_everything_and_says_what_it_found(tmp_path):
    lines = []
    more = {"steps_to_validate": 300, "checkpoint_dir": str(tmp_path), "save_model_secs": 60.0}
    report(lines.append, problem="linear", mode="async", workers=1, epochs=120, **more)  # of five batches
    assert [line.split(",")[0] for line in lines if line.startswith("step: ")] == ["step: 300", "step: 600"]
    assert len([line for line in lines if line.split()[0].isdigit() and line.split()[1] != "of"]) >= 120
    text = "\n".join(lines)
    assert "/job:ps/task:0, /job:worker/task:0" in text and "600 updates" in text and "0: 600" in text
    for name in ("slope", "intercept"):
        line = next(line for line in lines if line.startswith(name))
        assert float(line.split(": ")[1].split()[0]) < 3, line


def test_the_second_problem_is_the_classic_one():
    second = named_problem("linear-101")
    assert repr(second.make()) == "LinearRegression(y = 2·x + 0.2 + noise, 101 points)"
    assert (second.optimizer, second.learning_rate) == ("adagrad", 0.8)


def test_a_distance_has_each_curve_by_its_name_and_the_one_alone():
    curves = {
        "one server": {0.0: 100.0, 0.1: 13.0},
        "two shards": {0.0: 95.0, 0.1: 13.0},
        "ring": {0.0: 120.0, 0.1: 7.0},
    }
    shown = distance(curves, "Far", alone=50.0, label="recorded: here")
    for words in (*curves, "one worker, beside the server", "recorded: here"):
        assert words in shown.html
    assert "ring: 120 near, 7 far" in shown.alt


def test_names_of_curves_that_end_together_stand_apart():
    found = apart({"a": {0.0: 100.0, 0.1: 13.0}, "b": {0.0: 95.0, 0.1: 13.0}, "c": {0.0: 90.0, 0.1: 60.0}})
    assert found == {"a": 13.0, "b": 20.5, "c": 60.0}
