"""40 programs, modelled and by events: the two agree on one clock, and a wrong figure of a card is seen."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.modelled import __main__ as command
from benchmarks.modelled.measuring import measured
from benchmarks.modelled.modelling import Modelled, modelled
from benchmarks.modelled.programs import PROGRAMS, ROOMS
from benchmarks.modelled.table import Origin, Row, compared, lines, median_error, page
from simgpu import model_for, simulated_gpus
from simgpu.models.catalogue import data_sheets
from simgpu.recording.stopwatch import Spread

ROOT = Path(__file__).resolve().parents[2]
PART = 32
MARK = 1.5e-6  # seconds: an event costs the modelled host a microsecond
#: A card whose host costs next to nothing: the programs are bound by what the device does, however small they are.
QUICK_HOST = replace(model_for("T4"), launch=1e-8, copy_latency=1e-8)
BY_MEMORY = ("sum_of_all", "chain_elementwise", "transposed_copy", "layer_norm", "cross_entropy")
BY_COMPUTE = ("product_float32", "convolution_3x3")
REAL = Origin("NVIDIA RTX 3080", False, "NVIDIA 570, CUDA 12.8", "2.11.0", "2026-11-23")
ROWS = [Row("a_step", 1.1e-3, 1e-3, 1e-5, "launch"), Row("b", 1e-3, 2e-3, 0.0, "memory")]


def name(room):
    return room.__name__.rpartition(".")[2]


def by_events(model, names, part):
    with simulated_gpus(1, model):
        return measured(torch.device("cuda", 0), 1000.0, part, names)


def test_there_are_forty_programs_and_each_says_what_it_does():
    assert len(PROGRAMS) == 40
    assert all(program.__doc__ and program.__doc__.endswith(".") for program in PROGRAMS.values())


@pytest.mark.parametrize(
    "room",
    [pytest.param(room, marks=pytest.mark.long if name(room) in ("networks", "training") else ()) for room in ROOMS],
    ids=name,
)
def test_modelled_seconds_are_those_between_events_on_the_same_clock(room):
    names = [program.__name__ for program in room.PROGRAMS]
    rows = compared(modelled(model_for("H100"), PART, names), by_events("H100", names, PART))
    assert [row.name for row in rows] == names
    assert {row.name: row for row in rows if abs(row.modelled - row.measured) > MARK} == {}
    assert {row.bound for row in rows if row.name in ("tiny_kernels", "adam_by_hand", "mlp_sgd")} <= {"launch"}


@pytest.mark.long
def test_a_halved_bandwidth_is_seen_where_memory_is_the_bound_and_nowhere_else():
    wrong = replace(QUICK_HOST, memory_bandwidth=QUICK_HOST.memory_bandwidth / 2)
    truth = by_events(QUICK_HOST, (*BY_MEMORY, *BY_COMPUTE), part=4)
    right = {row.name: row for row in compared(modelled(QUICK_HOST, 4, truth), truth)}
    off = {row.name: row for row in compared(modelled(wrong, 4, truth), truth)}
    assert all(right[name].ratio == pytest.approx(1, abs=0.1) for name in truth)
    for name in BY_MEMORY:
        assert right[name].bound == "memory" and 1.6 < off[name].ratio < 2.1, name
    for name in BY_COMPUTE:
        assert right[name].bound == "compute" and off[name].ratio == pytest.approx(right[name].ratio, abs=0.01), name
    assert median_error(list(right.values())) < 0.05 and median_error(list(off.values())) > 0.5


def test_what_bounds_a_program_follows_the_card():
    assert modelled(QUICK_HOST, PART, ["results_to_host"])["results_to_host"].bound == "copies"
    slow_host = replace(QUICK_HOST, launch=1e-2)
    assert {one.bound for one in modelled(slow_host, PART, ["sum_of_all", "product_float32"]).values()} == {"launch"}


def test_the_table_has_a_row_a_program_and_the_median_error():
    said = lines(ROWS, REAL)
    assert said[0] == "NVIDIA RTX 3080, NVIDIA 570, CUDA 12.8, torch 2.11.0, 2026-11-23: measured."
    assert said[2] == "Median error: 30.0%; within 15 %: 1 of 2."
    assert said[-2:] == ["| a step | 1.1 | 1 | 1% | 1.10 | launch |", "| b | 1 | 2 | 0% | 0.50 | memory |"]
    assert page(ROWS, REAL).startswith("# Modelled and measured\n") and page(ROWS, REAL).endswith("memory |\n")


def test_no_page_is_made_of_simulated_seconds():
    simulated = REAL._replace(simulated=True)
    assert "SIMULATED: both by a modelled clock, nothing here is measured" in lines(ROWS, simulated)[0]
    with pytest.raises(ValueError, match="simulated, and the page is for what was measured"):
        page(ROWS, simulated)


def test_without_a_cuda_device_the_table_is_missing_and_nothing_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert command.main(["--out", str(tmp_path / "made")]) == 2
    said = capsys.readouterr().err
    assert "table of modelled against measured seconds is missing: this PyTorch finds no CUDA device" in said
    assert "make calibrate" in said and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words, said",
    [
        (["--part", "0"], "--part=0: give a whole number from 1 to 32."),
        (["sum", "--part", "2"], "PROGRAM 'sum': there is none by that name. Use mlp_sgd, mlp_adam"),
    ],
)
def test_a_command_line_that_makes_no_sense(words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(words)
    assert stop.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize("real", [False, True])
def test_the_command_makes_card_and_table_and_a_page_only_of_what_was_measured(real, tmp_path, capsys, monkeypatch):
    """No device is asked here: the program is one, and its seconds are given."""

    def calibrated(device, out, seconds):
        told = {"hardware": "a card", "simulated": not real, "driver": "none", "torch": "2.11", "date": "2026-11-23"}
        Path(out).write_text(json.dumps(told), encoding="utf-8")
        return 0

    monkeypatch.setattr(command, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(command, "calibrate_command", calibrated)
    monkeypatch.setattr(command, "measured", lambda *rest, **more: {"sum_of_all": Spread(2e-3, 1e-5, 31)})
    found = {"sum_of_all": Modelled(1e-3, "memory")}
    monkeypatch.setattr(command, "_in_a_process_of_its_own", lambda card, part, names: found)
    monkeypatch.setattr(command, "PROGRAMS", {"sum_of_all": PROGRAMS["sum_of_all"]})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert command.main(["--out", str(tmp_path / "made")]) == 0
    said = capsys.readouterr().out
    assert "| sum of all | 1 | 2 | 0% | 0.50 | memory |" in said and ("SIMULATED" in said) == (not real)
    assert (tmp_path / "page.md").exists() == real
    assert command.main(["--out", str(tmp_path / "made"), "--no-write", "--part", "2"]) == 0


def test_a_folder_that_cannot_be_made_is_told_of(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    (tmp_path / "file").write_text("")
    assert command.main(["--out", str(tmp_path / "file")]) == 2
    assert "no folder can be made there: File exists." in capsys.readouterr().err


def test_a_card_that_could_not_be_recorded_ends_it(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(command, "calibrate_command", lambda device, out, seconds: 1)
    assert command.main(["--out", str(tmp_path)]) == 1


@pytest.mark.long
def test_the_model_is_asked_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "card.json"
    path.write_text(data_sheets()["T4"].read_text(encoding="utf-8"), encoding="utf-8")
    found = command._in_a_process_of_its_own(path, 32, ["results_to_host", "sum_of_all"])
    assert found == modelled(model_for("T4"), 32, ["results_to_host", "sum_of_all"])


def test_the_readme_says_that_the_table_is_missing_until_there_is_one():
    said = (ROOT / "simgpu" / "README.md").read_text(encoding="utf-8")
    assert command.PAGE.exists() == (command.PAGE.name in said) != ("is missing: none has been recorded" in said)
