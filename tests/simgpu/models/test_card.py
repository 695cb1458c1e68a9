"""Cards as files: what is read, and how garbage is refused: the field, what it is, what is legal."""

import json

import pytest

from simgpu import model_for
from simgpu.__main__ import main
from simgpu.models.card import FIGURES, read_card
from simgpu.models.catalogue import data_sheets

CARD = {
    "schema": 1, "kind": "measured card", "simulated": False, "date": "2026-11-23", "name": "mine",
    "hardware": "NVIDIA RTX 3080", "memory": 10 * 2**30, "launch": 5e-6, "shortest_kernel": 2e-6, "synchronise": 3e-6,
    "peak": {"float32": 2.9e13, "float16": 1.1e14}, "half_size": {"float32": 300.0}, "memory_bandwidth": 7.6e11,
    "copy_bandwidth": 2.5e10, "copy_bandwidth_pageable": 9e9, "copy_latency": 8e-6, "peer_bandwidth": 0,
    "capability": [8, 6], "multiprocessors": 68, "assumed": [],
}  # fmt: skip


def written(tmp_path, text):
    path = tmp_path / "mine.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def test_a_card_is_a_model(tmp_path):
    model = read_card(written(tmp_path, CARD))
    assert model.label == "modelled: fitted to measurements on NVIDIA RTX 3080, 2026-11-23"
    assert model.capability == (8, 6) and model.peak == CARD["peak"] and model.between_devices == 2.5e10
    assert set(FIGURES) | {"schema", "kind", "simulated", "date"} == set(CARD)


@pytest.mark.parametrize("name", sorted(data_sheets()))
def test_a_data_sheets_file_is_read_as_its_name_is(name):
    assert model_for(data_sheets()[name]) == model_for(name)


@pytest.mark.parametrize(
    "field, value, legal",
    [
        ("schema", 2, "1"),
        ("schema", True, "1"),
        ("kind", "recorded", "one of 'measured card', 'simulated card', 'data sheet'"),
        ("kind", ["x"], "one of 'measured card'"),
        ("kind", "simulated card", ""),
        ("simulated", True, "false, as it is a measured card"),
        ("simulated", 0, "false"),
        ("date", "", "text"),
        ("name", None, "text"),
        ("hardware", 7, "text"),
        ("memory", 1.5e10, "a whole number of bytes, 1 MiB to 1 PiB"),
        ("memory", -1, "a whole number of bytes"),
        ("memory", True, "a whole number of bytes"),
        ("launch", "5 µs", "seconds, 0 to 1"),
        ("launch", float("nan"), "seconds, 0 to 1"),
        ("shortest_kernel", -1e-6, "seconds, 0 to 1"),
        ("synchronise", 5, "seconds, 0 to 1"),
        ("peak", {"float16": 1e13}, "an object of operations a second by dtype, float32 and others of float64"),
        ("peak", {"float32": 0}, "an object of operations a second"),
        ("peak", {"float32": 1e13, "float8": 1e14}, "an object of operations a second"),
        ("peak", [1e13], "an object of operations a second"),
        ("half_size", {"float32": -1}, "an object of sizes from 0 on by dtype"),
        ("half_size", [], "an object of sizes"),
        ("memory_bandwidth", 0, "bytes a second, 1 to 1e20"),
        ("copy_bandwidth", float("inf"), "bytes a second"),
        ("copy_bandwidth_pageable", 10**99, "bytes a second"),
        ("copy_latency", None, "seconds, 0 to 1"),
        ("peer_bandwidth", -1, "bytes a second from one device to another, 0: not known"),
        ("capability", [8], "two whole numbers, as [9, 0]"),
        ("capability", [8, 6.0], "two whole numbers"),
        ("multiprocessors", 6.5, "a whole number, 0: not known"),
        ("assumed", [1], "list of texts"),
    ],
)
def test_a_field_that_is_not_legal_is_named(field, value, legal, tmp_path):
    path = written(tmp_path, CARD | {field: value})
    with pytest.raises(ValueError) as refused:
        model_for(str(path))
    text = str(refused.value)
    assert text.startswith(f"model={str(path)!r}: ") and legal in text
    assert f"{field} is " in text or (field, value) == ("kind", "simulated card") and "simulated is False" in text


@pytest.mark.parametrize("field", sorted(CARD))
def test_a_field_that_is_missing_is_named(field, tmp_path):
    path = written(tmp_path, {name: value for name, value in CARD.items() if name != field})
    with pytest.raises(ValueError, match=rf"{field} is missing; legal is "):
        read_card(path)


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", r"the file is \[1\]; legal is a JSON object"),
        ('"card"', "the file is 'card'; legal is a JSON object"),
    ],
)
def test_a_file_that_is_no_card_is_refused(text, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        read_card(written(tmp_path, text))


def test_a_file_that_is_not_there_a_folder_and_no_text(tmp_path):
    with pytest.raises(ValueError, match="the file can't be read: No such file"):
        model_for(str(tmp_path / "missing.json"))
    with pytest.raises(ValueError, match="the file can't be read: Is a directory"):
        model_for(tmp_path)
    path = tmp_path / "mine.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not JSON"):
        model_for(path)


def test_run_refuses_a_bad_card_before_the_program_starts(tmp_path, capsys):
    path, program = written(tmp_path, CARD | {"launch": "soon"}), tmp_path / "train.py"
    program.write_text("")
    with pytest.raises(SystemExit) as stop:
        main(["run", "--model", str(path), str(program)])
    assert stop.value.code == 2
    assert "launch is 'soon'; legal is seconds, 0 to 1." in " ".join(capsys.readouterr().err.split())
