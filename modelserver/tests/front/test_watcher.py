"""The watcher without workers: which versions it takes up, and what it logs."""

import asyncio
import logging
from types import SimpleNamespace

import pytest
import torch

from modelserver import export
from modelserver.front.metrics import Metrics
from modelserver.front.models import Models
from modelserver.front.watcher import Watcher
from modelserver.protocol.errors import Refused
from modelserver.versions.version import numbers


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
    for versions, taken in (((1, 2, 3, 9, 10), [3, 9, 10]), ((11, 12), [12]), ((), [])):
        models.numbers.clear()
        for number in versions:
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


def refusal(models, *what):
    with pytest.raises(Refused) as refused:
        models.find(*what)
    return refused.value.status, refused.value.headers.get("Retry-After")


def test_what_was_not_looked_at_yet_is_503_and_what_is_not_there_404(tmp_path):
    seen = []

    class Looking(Pool):
        async def judge(self, folder, signature, judged_by):
            seen.append([refusal(models, name, number) for name, number in (("b", None), ("b", "1"), ("c", None))])
            return await super().judge(folder, signature, judged_by)

    models = Models(Looking(), Metrics(), 0.02)
    assert refusal(models, "a") == (503, "1")
    for name in "ab":
        export(torch.nn.Linear(3, 2), torch.ones(2, 3), tmp_path, name=name)
    asyncio.run(Watcher(tmp_path, models, Metrics()).look())
    assert seen[0] == [(503, "1"), (503, "1"), (404, None)]
    assert refusal(models, "c") == refusal(models, "b", "2") == (404, None)
    assert models.find("b", "1").version.number == 1
    models.close()


def test_a_folder_that_cannot_be_looked_at_holds_up_no_other_and_is_logged_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(logging.getLogger("modelserver"), "propagate", True)
    for name in "ab":
        export(torch.nn.Linear(3, 2), torch.ones(2, 3), tmp_path, name=name)
    models = Models(Pool(), Metrics(), 0.02)
    watcher = Watcher(tmp_path, models, Metrics())

    def lost(folder):
        if folder.name == "a":
            raise OSError(f"{folder}: the disk is gone")
        return numbers(folder)

    monkeypatch.setattr("modelserver.front.watcher.numbers", lost)
    for _ in range(3):
        asyncio.run(watcher.look())
    assert models.find("b").version.number == 1
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1 and "the disk is gone" in errors[0]
    models.close()
