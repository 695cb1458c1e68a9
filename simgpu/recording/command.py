"""`simgpu calibrate`: measure a CUDA device, and write its card."""

import sys
from pathlib import Path

from simgpu.models.device_model import DeviceModel
from simgpu.recording.card_recorder import Recording
from simgpu.units import bytes_in_words, seconds_in_words


def calibrate_command(device: str, out: str, seconds: str) -> int:
    """Measure `device` ("cuda:0") for `seconds` at most and write its card to `out`; return the exit status.

    2 where there is nothing to measure or an argument isn't legal, 1 where the time was over or the device failed; then
    nothing is written.
    """
    try:
        limit, path, place = _seconds(seconds), _path(out), _device(device)
        from simgpu.recording.card_recorder import fitted, record, write

        recording = record(place, limit, say=lambda words: print(f"measuring {words}", flush=True))
        write(path, recording)
    except ValueError as error:
        return _refused(str(error), 2)
    except TimeoutError as error:
        return _refused(str(error), 1)
    except RuntimeError as error:  # CUDA's own: out of memory, or lost
        return _refused(f"calibrate: {device} failed, so nothing is written: {str(error).partition(chr(10))[0]}", 1)
    except OSError as error:
        return _refused(f"calibrate --out {out!r}: it can't be written: {error.strerror}.", 2)
    print("\n".join(figures(recording, fitted(recording))))
    print(f"written: {path}. Use it by simulated_gpus(model={str(path)!r}) or simgpu run --model {path}")
    return 0


def figures(recording: Recording, model: DeviceModel) -> list[str]:
    """Return lines that say what a `recording` gave, the `DeviceModel` fitted to it, and how far that is off it."""
    from simgpu.models.fit_errors import errors

    rates = ", ".join(f"{name} {rate / 1e12:.4g}" for name, rate in sorted(model.peak.items()))
    if model.peer_bandwidth:
        between = f"{model.peer_bandwidth / 1e9:.4g} GB/s between devices"
    else:
        between = "no second device to copy to"
    spreads = [row.iqr / row.compute for row in recording.matmul]
    spreads += [row.iqr / row.seconds for row in recording.ops]
    spreads += [row.iqr / row.seconds for row in recording.copies]
    spreads += [row.iqr / row.seconds for row in recording.calls if row.seconds]
    off = errors(model, recording)
    return [
        f"{model.hardware}, {bytes_in_words(model.memory)}, {recording.driver}, torch {recording.torch}",
        "SIMULATED: read off the modelled clock, not measured" if recording.simulated else "measured",
        f"an op: {seconds_in_words(model.launch)} of the host, {seconds_in_words(model.shortest_kernel)} of the device "
        f"at least; to wait for it: {seconds_in_words(model.synchronise)}",
        f"memory: {model.memory_bandwidth / 1e9:.4g} GB/s",
        f"products: {rates} TFLOP/s",
        f"copies: {seconds_in_words(model.copy_latency)}, then {model.copy_bandwidth / 1e9:.4g} GB/s pinned, "
        f"{model.copy_bandwidth_pageable / 1e9:.4g} GB/s pageable; {between}",
        f"spread: the middle half of the repeats lies within {max(spreads):.0%} of the median, or closer, in every row",
        f"the model is off its own rows by {abs(off.largest.relative):.0%} at most ({off.largest.what}, "
        f"{off.largest.size}), of products from 256 on and copies with the host",
        *(f"note: {words}" for words in model.assumed),
    ]


def _refused(words, status):
    print(words if words.startswith("calibrate") else f"calibrate: {words}", file=sys.stderr)
    return status


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 86_400:
        raise ValueError(f"--seconds={text!r}: give a number from 1 to 86400, as in --seconds 300.")
    return seconds


def _path(text):
    path = Path(text)
    if path.suffix != ".json" or path.is_dir():
        raise ValueError(f"--out={text!r}: give the name of a file that ends in .json, as in --out card.json.")
    if not path.parent.is_dir():
        raise ValueError(f"--out={text!r}: there is no folder {str(path.parent)!r}. Make it first.")
    return path


def _device(text):
    kind, _, number = text.partition(":")
    if kind != "cuda" or not (number.isascii() and number.isdigit() or text == "cuda"):
        raise ValueError(f"--device={text!r}: give a CUDA device, as in --device cuda:0.")
    import torch

    if not torch.cuda.is_available():
        raise ValueError(
            "this PyTorch finds no CUDA device, so there is nothing to measure. To try the command on a simulated "
            "one: simgpu run --model H100 -m simgpu calibrate --out card.json."
        )
    count = torch.cuda.device_count()
    if int(number or 0) >= count:
        raise ValueError(f"--device={text!r}: there are {count} CUDA devices, cuda:0 to cuda:{count - 1}.")
    return torch.device("cuda", int(number or 0))
