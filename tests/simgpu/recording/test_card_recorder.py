"""A card recorded on a simulated device gives its model back; what is not measured says so."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from simgpu import DeviceModel, errors, model_for, simulated_gpus
from simgpu.models.card import read_card
from simgpu.models.catalogue import data_sheets
from simgpu.models.op_seconds import BYTES
from simgpu.recording import card_recorder, stopwatch
from simgpu.recording.card_recorder import fitted, record, write
from simgpu.recording.rows import Sizes

FIGURES = ("launch", "memory_bandwidth", "copy_bandwidth", "copy_bandwidth_pageable", "copy_latency", "between_devices")
MADE_UP = DeviceModel(
    "made up", "a made-up GPU", 2**34, 4e-6, {"float32": 5e13, "tfloat32": 1e14, "float16": 6e14}, 2e12, 5e10, 2e10,
    7e-6, "made up", half_size={"float32": 256.0, "tfloat32": 512.0, "float16": 1024.0}, shortest_kernel=2e-6,
    synchronise=3e-6, peer_bandwidth=4e11, capability=(8, 6), multiprocessors=68,
)  # fmt: skip


def card_of(model, path, count=2):
    """Record a simulated device of `model`, write its card to `path`, and return it and the recording."""
    with simulated_gpus(count, model):
        recording = record(torch.device("cuda", 0))
        write(path, recording)
    return read_card(path), recording


@pytest.mark.parametrize("name", sorted(data_sheets()))
def test_a_simulated_device_gives_its_models_own_figures_back(name, tmp_path):
    true = model_for(name)
    card, recording = card_of(name, tmp_path / "card.json")
    for figure in FIGURES:
        assert getattr(card, figure) == pytest.approx(getattr(true, figure), rel=0.01), figure
    for dtype in BYTES:
        assert card.rate(dtype) == pytest.approx(true.rate(dtype), rel=0.01), dtype
    assert card.memory == true.memory and card.synchronise == 0 and card.shortest_kernel < 1e-7
    assert card.assumed == () and abs(errors(card, recording).largest.relative) < 0.01


def test_a_model_with_all_that_no_data_sheet_states_is_found_again_too(tmp_path):
    card, recording = card_of(MADE_UP, tmp_path / "card.json")
    for figure in (*FIGURES, "synchronise", "shortest_kernel"):
        assert getattr(card, figure) == pytest.approx(getattr(MADE_UP, figure), rel=0.02), figure
    for dtype in ("float32", "tfloat32", "float16"):
        assert card.rate(dtype) == pytest.approx(MADE_UP.rate(dtype), rel=0.02), dtype
        assert card.half_size[dtype] == pytest.approx(MADE_UP.half_size[dtype], rel=0.1), dtype
    assert card.capability == (8, 6) and card.multiprocessors == 68
    assert abs(errors(card, recording).largest.relative) < 0.02
    assert abs(errors(replace(card, memory_bandwidth=1e12), recording)[-1].relative) > 0.9, "the largest op on memory"


def test_the_card_of_a_simulated_device_says_so_and_is_taken_as_a_model(tmp_path, monkeypatch):
    path = tmp_path / "card.json"
    card, _ = card_of("T4", path, count=1)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (
        document["simulated"] is True
        and document["kind"] == "simulated card"
        and document["driver"] == "none: simulated"
    )
    assert "not measured" in card.label and card.peer_bandwidth == 0, "there was no second device to copy to"
    assert {row["repeats"] for kind in document["rows"].values() for row in kind} == {1}
    assert (
        list(document["rows"]) == ["calls", "matmul", "copies", "ops"] and len(document["rows"]["calls"]) == 2 * 5 + 1
    )
    with simulated_gpus(1, model=path) as gpus:
        assert torch.cuda.get_device_capability() == (7, 5)
        assert torch.cuda.get_device_name() == "NVIDIA T4 (simulated)"
        assert "read off a simulated NVIDIA T4" in repr(gpus.clock)
    monkeypatch.chdir(tmp_path)
    assert model_for("card.json") == model_for(Path("card.json")) == card


@pytest.mark.long
def test_what_is_done_on_a_real_device_is_done_on_one_that_passes_for_real(tmp_path, monkeypatch):
    """The simulation denies itself here: host's clock, repeats, sizes and real numbers are a real device's."""
    for module in (card_recorder, stopwatch):
        monkeypatch.setattr(module, "active", lambda: None)
    monkeypatch.setattr(card_recorder, "Sizes", lambda *sizes: Sizes((32, 64), (256, 4096), (2**10, 2**14)))
    monkeypatch.setattr(card_recorder, "_MEASURED", (2, 4))
    monkeypatch.setattr(card_recorder, "_WARM_UP", 0.01)
    with simulated_gpus(1, replace(model_for("A100"), launch=1e-6)):  # the host is soon ahead
        recording = record(torch.device("cuda", 0))
    path = tmp_path / "card.json"
    write(path, recording)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (
        document["kind"] == "measured card"
        and document["simulated"] is False
        and document["torch"] == torch.__version__
    )
    assert document["driver"].startswith("NVIDIA ") and {row["repeats"] for row in document["rows"]["ops"]} == {2}
    assert fitted(recording).label.startswith("modelled: fitted to measurements on NVIDIA A100 SXM 80 GB, 20")
    assert recording.device.launch > 0 and len(recording.matmul) == 2 * 5


def test_a_card_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "card.json"
    _, recording = card_of("T4", path, count=1)
    before = path.read_text(encoding="utf-8")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write(path, replace(recording, hardware="another"))
    assert path.read_text(encoding="utf-8") == before and [file.name for file in tmp_path.iterdir()] == ["card.json"]


def test_when_the_time_is_over_there_is_no_recording():
    with simulated_gpus(1), pytest.raises(TimeoutError, match="0 s are over and cuda:0 is not done, so nothing is"):
        record(torch.device("cuda", 0), limit=0.0)
