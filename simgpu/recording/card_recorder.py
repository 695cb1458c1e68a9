"""Measuring a CUDA device (`record`), fitting a model to it (`fitted`), and writing both as a card (`write`)."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import torch

from simgpu.models.calibration import Device, calibrate
from simgpu.models.card import FIGURES, MEASURED, SCHEMA, SIMULATED, origin
from simgpu.models.device_model import DeviceModel
from simgpu.recording import rows
from simgpu.recording.rows import Call, Copy, Op, Product, Sizes
from simgpu.recording.stopwatch import Stopwatch
from simgpu.state import active

_WARM_UP = 1.0  # seconds
_MEASURED, _SIMULATED = (15, 100), (1, 4)  # repeats, calls in a row; a modelled clock says the same every time


@dataclass(frozen=True)
class Recording:
    """What was measured of a device, on `date`, in `seconds`: what `calibrate` reads, and with what it was measured.

    `simulated`: the device was, and none of its seconds are measured. `notes` say what the rows don't show.
    """

    hardware: str
    simulated: bool
    date: str
    driver: str
    torch: str
    seconds: float
    device: Device
    calls: Sequence[Call]
    matmul: Sequence[Product]
    copies: Sequence[Copy]
    ops: Sequence[Op]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the model is called: as the hardware."""
        return self.hardware

    @property
    def origin(self) -> str:
        """Hardware and date."""
        return f"{'a simulated ' * self.simulated}{self.hardware}, {self.date}"


def record(device: torch.device, limit: float = 300.0, say: Callable[[str], object] = str) -> Recording:
    """Return the `Recording` of `device`, a CUDA device with its index; `say` is called with what is measured next.

    Takes a quarter of its free memory at most. Raises TimeoutError when `limit` seconds are over.
    """
    began = time.monotonic()
    watch = Stopwatch(device, limit, *_SIMULATED if active() else _MEASURED)
    sizes = rows.SIMULATED if watch.simulated else _fitting(device)
    hardware = torch.cuda.get_device_name(device).removesuffix(" (simulated)")
    rows.warm_up(watch, _WARM_UP)
    say("the host's seconds for an op, and the device's shortest")
    calls = rows.calls(watch)
    properties = rows.of_device(device, calls)
    say("memory")
    ops = rows.ops(watch, sizes.numbers)
    say("copies")
    copies = rows.copies(watch, sizes.copies)
    dtypes = _dtypes(properties)
    say(f"products in {', '.join(dtypes)}")
    products = rows.products(watch, sizes.products, dtypes)
    slow = "kernels: the host was slower than the device at times, so short ones may be shorter than they seem"
    return Recording(
        hardware,
        watch.simulated,
        date.today().isoformat(),
        _driver(),
        torch.__version__,
        round(time.monotonic() - began, 1),
        properties,
        calls,
        products,
        copies,
        ops,
        () if watch.ahead else (slow,),
    )


def fitted(recording: Recording) -> DeviceModel:
    """Return the `DeviceModel` fitted to `recording`; it says whether the device was simulated."""
    model = calibrate(recording)
    source = origin(recording.hardware, recording.date, recording.simulated)
    return DeviceModel(**{**vars(model), "origin": source, "assumed": (*model.assumed, *recording.notes)})


def write(path: Path, recording: Recording) -> None:
    """Write the card of `recording` to `path`, whole or not at all: the model's figures, then the rows behind them."""
    fields = asdict(recording)
    measured = {kind: fields[kind] for kind in ("calls", "matmul", "copies", "ops")}
    head = {"schema": SCHEMA, "kind": SIMULATED if recording.simulated else MEASURED}
    head |= {name: fields[name] for name in ("simulated", "date", "driver", "torch", "seconds")}
    figures = asdict(fitted(recording))
    text = json.dumps(_short(head | {name: figures[name] for name in FIGURES}), indent=2, ensure_ascii=False)
    lines = {kind: ",\n      ".join(json.dumps(_short(row)) for row in entries) for kind, entries in measured.items()}
    text = text.removesuffix("\n}") + ',\n  "rows": {\n    '
    text += ",\n    ".join(f'"{kind}": [\n      {entries}\n    ]' for kind, entries in lines.items()) + "\n  }\n}\n"
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _short(value):
    """Return JSON's data with six digits of every float: no clock has more."""
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _fitting(device):
    """Return the `Sizes` that fit into a quarter of the device's free memory, three arrays at a time."""
    most = torch.cuda.mem_get_info(device)[0] // 12
    whole = Sizes()
    return Sizes(
        [size for size in whole.products if 8 * size**2 <= most],
        [count for count in whole.numbers if 4 * count <= most],
        [nbytes for nbytes in whole.copies if nbytes <= most],
    )


def _dtypes(device):
    """Return the dtypes in which a device multiplies matrices: TF32 and bfloat16 from Ampere on."""
    return ("float32", "float16", "float64", *(("tfloat32", "bfloat16") if device.capability >= (8, 0) else ()))


def _driver():
    """Return the versions of NVIDIA's driver and of the CUDA that torch was built with."""
    if active():
        return "none: simulated"
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        answer = []  # in some containers there is no such program
    return f"NVIDIA {answer[0] if answer else 'unknown'}, CUDA {torch.version.cuda}"
