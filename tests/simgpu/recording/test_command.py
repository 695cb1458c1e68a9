"""`simgpu calibrate`: what it prints and writes, and what it refuses."""

import json

import pytest
import torch

from simgpu import simulated_gpus
from simgpu.__main__ import main
from simgpu.recording import card_recorder


def test_without_a_cuda_device_it_says_so_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["calibrate", "--out", str(tmp_path / "card.json")]) == 2
    text = capsys.readouterr().err
    assert text.startswith("calibrate: this PyTorch finds no CUDA device, so there is nothing to measure.")
    assert "simgpu run --model H100 -m simgpu calibrate" in text and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words, text",
    [
        (["--device", "cpu"], "--device='cpu': give a CUDA device, as in --device cuda:0."),
        (["--device", "cuda:x"], "--device='cuda:x': give a CUDA device"),
        (["--device", "cuda:2"], "--device='cuda:2': there are 2 CUDA devices, cuda:0 to cuda:1."),
        (["--out", "card.txt"], "--out='card.txt': give the name of a file that ends in .json"),
        (["--out", "no/such/card.json"], "--out='no/such/card.json': there is no folder 'no/such'. Make it first."),
        (["--seconds", "soon"], "--seconds='soon': give a number from 1 to 86400"),
        (["--seconds", "nan"], "--seconds='nan': give a number from 1 to 86400"),
        (["--seconds", "0"], "--seconds='0': give a number from 1 to 86400"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_measured(words, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with simulated_gpus(2) as gpus:
        assert main(["calibrate", *words]) == 2
        assert gpus.clock.spans == []
    assert text in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_on_a_simulated_device_it_works_and_says_what_it_is(tmp_path, capsys):
    path = tmp_path / "card.json"
    with simulated_gpus(1, "L4"):
        assert main(["calibrate", "--device", "cuda", "--out", str(path)]) == 0
    text = capsys.readouterr().out
    assert "SIMULATED: read off the modelled clock, not measured" in text and "memory: 300 GB/s" in text
    assert "bfloat16 121, float16 121, float32 30.3" in text and f"written: {path}." in text
    assert "an op: 10.0 µs of the host" in text and "no second device to copy to" in text
    assert json.loads(path.read_text(encoding="utf-8"))["simulated"] is True


def test_a_device_that_fails_is_told_of_in_its_own_words(tmp_path, capsys, monkeypatch):
    def full(place, limit, say):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB.\nMore of it")

    monkeypatch.setattr(card_recorder, "record", full)
    with simulated_gpus(1):
        assert main(["calibrate", "--out", str(tmp_path / "card.json")]) == 1
    text = capsys.readouterr().err
    assert text == "calibrate: cuda:0 failed, so nothing is written: CUDA out of memory. Tried to allocate 3.00 GiB.\n"
    assert not list(tmp_path.iterdir())


def test_when_the_time_is_over_the_status_is_1_and_there_is_no_file(tmp_path, capsys, monkeypatch):
    def late(place, limit, say):
        raise TimeoutError(f"calibrate: {limit:g} s are over")

    monkeypatch.setattr(card_recorder, "record", late)
    with simulated_gpus(1):
        assert main(["calibrate", "--out", str(tmp_path / "card.json"), "--seconds", "7"]) == 1
    assert "calibrate: 7 s are over" in capsys.readouterr().err and not list(tmp_path.iterdir())
