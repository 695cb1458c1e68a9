"""`python -m course tune`: its way to write a space, and a search from the beginning to the end."""

import re

import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.commands.tune import parsed_space


def test_a_space_on_the_command_line_is_what_tune_takes():
    texts = ["learning-rate=1e-3:10:log", "hidden=10:200", "optimizer=sgd,adam", "nesterov=true", "workers=3"]
    assert parsed_space(texts) == {
        "learning_rate": (0.001, 10, "log"),
        "hidden": (10, 200),
        "optimizer": ["sgd", "adam"],
        "nesterov": True,
        "workers": 3,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--space learning_rate", "write NAME=LOW:HIGH"),
        ("--space rate=1:2", "there is no 'rate' to search"),
        ("--space learning_rate=2:1", "up to a larger one"),
        ("--problem nothing", "there are linear, linear-101, mnist"),
        ("--problem linear --settings classic", "has no settings"),
    ],
)
def test_a_wrong_flag_is_told_before_any_process_starts(arguments, words, monkeypatch):
    monkeypatch.setattr("course.cluster.local_cluster", None)
    done = CliRunner().invoke(main, ["tune", *arguments.split()])
    assert done.exit_code == 2 and words in done.output


def test_a_search_from_the_command_line_says_what_is_best_and_goes_on_from_its_journal(tmp_path):
    command = f"tune --problem linear --steps 20 --workers 1 --search random --journal {tmp_path / 'journal'} --trials"
    for trials in (4, 5):
        done = CliRunner().invoke(main, [*command.split(), str(trials)])
        assert done.exit_code == 0, done.output
        assert re.search(r"^1\. loss \S+  learning_rate=\S+, optimizer='sgd'  \(trial \d, ", done.output, re.M)
        assert re.search(rf"^{trials} trials by random: {trials} done; \d+\.\d s$", done.output, re.M)
    assert "4 of 5 trials · 1 running" in done.output
