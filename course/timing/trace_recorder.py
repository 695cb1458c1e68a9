"""`record_trace`: measure a device of this machine and keep the figures as a trace that others can look at."""

import json
import platform
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import torch

from course.devices import list_devices
from course.timing.device_lookup import find_device
from course.timing.matmul import measure_matmul
from course.timing.op_times import OPS, measure_copies, measure_life, measure_ops
from course.timing.precision import TF32, multiplying
from course.traces import Trace, validate
from course.traces.trace import ROWS

SIZES = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1500, 2048, 3000, 4096, 4500, 8192)
COPIES = tuple(10**power for power in range(3, 10))  # bytes: 1 kB to 1 GB
NUMBERS = tuple(10**power for power in range(3, 9))
SIDES = (64, 256, 1024, 2048)
_PRODUCTS = 0.6  # of the budget; the rest is shared by all other figures


def record_trace(
    path: str | Path,
    device: str | torch.device = "/cpu:0",
    sizes: Sequence[int] = SIZES,
    dtypes: Sequence[str] | None = None,
    copies: Sequence[int] = COPIES,
    numbers: Sequence[int] = NUMBERS,
    sides: Sequence[int] = SIDES,
    budget: float = 120.0,
    notes: str = "",
    today: str | None = None,
) -> Trace:
    """Measure products, copies, elementwise ops and Life on `device`; write them to `path` and return the `Trace`.

    - `path`: of a .json file; an existing one is replaced.
    - `sizes` of the products; `copies` in bytes; `numbers` in an array of an elementwise op; `sides` of a Life board:
      each but the sizes may be empty. What three times over would fill half the memory of host or device is left out.
    - `dtypes` of the products, by default float32 and float64 on a CPU, and float32, bfloat16 and (where the GPU has
      tensor cores for it) tfloat32 on a GPU.
    - `budget`: about how many seconds to spend; products that don't fit in it are left out. `today`: the ISO date to
      write, by default this machine's.

    Raises ValueError for a device that is not here or is simulated (a trace says what real hardware took), a dtype that
    can't be multiplied there, or a path that does not end in .json.
    """
    path, place = Path(path), find_device(device)
    dtypes = _dtypes(place) if dtypes is None else tuple(dtypes)
    _check(path, place, dtypes)
    rows: dict[str, list] = {"matmul": []}
    for dtype in dtypes:
        rows["matmul"] += measure_matmul(sizes, [place.name], budget=_PRODUCTS * budget / len(dtypes), dtype=dtype)
    rows |= _small_rows(place, copies, numbers, sides, (1 - _PRODUCTS) * budget)
    trace = Trace(
        name=path.stem,
        hardware=place.hardware,
        driver=_driver() if place.device.type == "cuda" else "",
        software={"torch": torch.__version__, "python": platform.python_version(), "system": platform.system()},
        date=today or date.today().isoformat(),
        notes=notes,
        **{kind: tuple(figures) for kind, figures in rows.items()},
    )
    document = trace.document()
    validate(document)
    path.write_text(_as_text(document), encoding="utf-8")
    return trace


def _check(path, place, dtypes):
    """Refuse what can't be recorded before anything is measured."""
    if path.suffix != ".json":
        raise ValueError(f"record_trace(path={str(path)!r}): give the name of a .json file.")
    if place.kind != "measured":
        raise ValueError(
            f"record_trace(device={place.name!r}): it is simulated, and a trace says what real hardware took. "
            "Close the simulation, or record '/cpu:0'."
        )
    for dtype in dtypes:
        with multiplying(dtype, place):
            pass  # entering is the check


def _small_rows(place, copies, numbers, sides, budget):
    here = {d.name: d.memory for d in list_devices()}
    limit = min(here["/cpu:0"], here[place.name]) // 6
    copies = [nbytes for nbytes in copies if nbytes <= limit]
    numbers = [count for count in numbers if 4 * count <= limit]
    figures = 4 * len(copies) + len(OPS) * len(numbers) + 4 * len(sides)
    seconds = min(0.3, budget / max(1, figures))
    return {
        "copies": measure_copies(copies, place.name, seconds),
        "ops": measure_ops(numbers, place.name, seconds=seconds),
        "life": measure_life(sides, place.name, seconds=seconds),
    }


def _dtypes(place):
    if place.device.type != "cuda":
        return ("float32", "float64") if place.device.type == "cpu" else ("float32",)  # MPS has no float64
    tensor_cores = torch.cuda.get_device_capability(place.device) >= (8, 0)  # Ampere is the first with TF32
    return ("float32", TF32, "bfloat16") if tensor_cores else ("float32", "bfloat16")


def _driver():
    """Return the versions of NVIDIA's driver and of the CUDA that torch was built with."""
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        answer = []  # in some containers there is no such program
    driver = f"NVIDIA {answer[0]}, " if answer else ""
    return f"{driver}CUDA {torch.version.cuda}"


def _as_text(document):
    """JSON with one row a line, so that a difference between two traces can be read. Four digits: none has more."""
    text = json.dumps({**document, **dict.fromkeys(ROWS, [])}, indent=2, ensure_ascii=False)
    for kind in ROWS:
        rows = [{k: _short(v) for k, v in row.items()} for row in document[kind]]
        lines = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in rows)
        text = text.replace(f'"{kind}": []', f'"{kind}": [\n    {lines}\n  ]' if rows else f'"{kind}": []')
    return text + "\n"


def _short(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value
