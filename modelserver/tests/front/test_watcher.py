"""The watcher without workers: which versions it takes up, and what it logs."""

import asyncio
import logging
from types import SimpleNamespace

import torch

from modelserver import export
from modelserver.front.metrics import Metrics
from modelserver.front.models import Models
from modelserver.front.watcher import Watcher


class Pool:
    """A pool whose workers load every version, and find it as it was exported."""

    async def judge(self, folder, signature, judged_by):
        return int(folder.name), {"difference": "", "accuracy": None, "own": None}

    async def share(self, program, folder, signature):
        pass

    def unload(self, program):
        raise AssertionError("nothing that was taken up is unloaded here")


class Takes:
    """Models that take every version up; `numbers`: those that they were told to take, in order."""

    def __init__(self):
        self.all, self.numbers = {}, []

    async def take_up(self, model, number, by_command):
        self.numbers.append(number)
        model.current = SimpleNamespace(version=SimpleNamespace(number=number))


def test_at_its_start_it_takes_up_the_newest_three_oldest_first_and_later_the_newest_alone(tmp_path):
    models = Takes()
    watcher = Watcher(tmp_path, models, Metrics())
    for numbers, taken in (((1, 2, 3, 9, 10), [3, 9, 10]), ((11, 12), [12]), ((), [])):
        models.numbers.clear()
        for number in numbers:
            (tmp_path / "m" / str(number)).mkdir(parents=True)
        asyncio.run(watcher.look())
        assert models.numbers == taken


def test_a_broken_version_is_one_error_in_the_log_and_the_one_before_stays(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(logging.getLogger("modelserver"), "propagate", True)
    metrics = Metrics()
    models = Models(Pool(), metrics, 0.02)
    watcher = Watcher(tmp_path, models, metrics)

    def logged():
        """Look twice; return what was logged: the second look finds nothing new."""
        caplog.clear()
        for _ in range(2):
            asyncio.run(watcher.look())
        return [(record.levelname, record.message) for record in caplog.records]

    with caplog.at_level(logging.INFO, "modelserver"):
        export(torch.nn.Linear(3, 2), torch.ones(2, 3), tmp_path, name="m")
        assert logged() == [("INFO", "m version 1 is served")]
        program = export(torch.nn.Linear(3, 2), torch.ones(2, 3), tmp_path, name="m").folder / "program.pt2"
        program.write_bytes(program.read_bytes()[:-1])
        ((level, message),) = logged()
    assert level == "ERROR" and message.startswith("m version 2 is refused, version 1 stays: ")
    assert "program.pt2: its SHA-256 is not the one" in message and "\n" not in message
    assert metrics.refused == {"m": 1} and models.find("m").version.number == 1
    models.close()
