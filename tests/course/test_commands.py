"""What `python -m course life` prints, and its cells a second; the log of a task."""

import logging
import re
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.commands import life


@pytest.fixture
def two_seconds_a_look(monkeypatch):
    """Each look at the clock is two seconds after the one before: so long takes whatever is timed by two."""
    looks = iter(range(0, 10_000, 2))
    monkeypatch.setattr(life, "time", SimpleNamespace(perf_counter=lambda: float(next(looks))))


# 100 × 200 cells, and two seconds for each stretch
@pytest.mark.parametrize(("generations", "every", "rate"), [(400, 400, "4.0"), (400, 100, "1.0"), (600, 400, "3.0")])
def test_the_rate_of_life_is_cells_times_generations_over_the_seconds_computed(
    generations, every, rate, two_seconds_a_look
):
    flags = f"--generations {generations} --every {every} --engine roll --height 100 --width 200"
    lines = CliRunner().invoke(main, f"life --pattern glider {flags}".split()).output.splitlines()
    assert lines[-1] == f"{rate} million cells a second, engine roll"


def test_life_tells_the_generations_asked_for_and_the_last_one(two_seconds_a_look):
    result = CliRunner().invoke(
        main, "life --pattern glider --generations 70 --every 30 --height 10 --width 12".split()
    )
    assert result.exit_code == 0, result.output
    counts = re.findall(r"^generation (\d+): (\d+) living cells$", result.output, re.MULTILINE)
    assert counts == [(number, "5") for number in ("0", "30", "60", "70")]


def test_life_of_no_generations_has_no_rate(two_seconds_a_look):
    result = CliRunner().invoke(main, "life --pattern glider --generations 0 --height 10 --width 10".split())
    assert result.output == "generation 0: 5 living cells\n"


@pytest.mark.parametrize("level", [None, "info"])
def test_a_tasks_log_is_printed_from_the_level_on_that_its_flag_names(level, monkeypatch):
    configured, wrong = [], ["task", "--job", "worker"]  # without a spec: it ends at once
    monkeypatch.setattr("logging.basicConfig", lambda **settings: configured.append(settings))
    for package in ("course", "modelserver", "simgpu"):
        monkeypatch.setattr(logging.getLogger(package), "level", logging.NOTSET)
    result = CliRunner().invoke(main, wrong + (["--log_level", level] if level else []))
    assert result.exit_code == 1 and len(configured) == (level is not None)
    assert logging.getLogger("course.cluster").getEffectiveLevel() == (logging.INFO if level else logging.WARNING)
