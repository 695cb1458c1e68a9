"""`record_trace`: measure products on a device of this machine and keep them as a trace others can look at."""

import json
import platform
from datetime import date
from pathlib import Path

import torch

from course.timing.matmul import measure_matmul
from course.timing.where import find_device
from course.traces import Trace, validate

SIZES = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1500, 2048, 3000, 4500)


def record_trace(path, device="/cpu:0", sizes=SIZES, dtypes=("float32",), budget=60.0, notes="", today=None):
    """Measure products on `device`, write them to `path` (a .json file) and return the `Trace`.

    `dtypes` are names such as "bfloat16"; `budget` is in seconds, shared between them; `today` is the ISO date to
    write, by default this machine's. An existing file is replaced. Raises ValueError for a device that is not here, a
    dtype torch does not know, or a path that does not end in .json.
    """
    path = Path(path)
    if path.suffix != ".json":
        raise ValueError(f"record_trace(path={str(path)!r}): give the name of a .json file.")
    unknown = [name for name in dtypes if not isinstance(getattr(torch, name, None), torch.dtype)]
    if unknown:
        raise ValueError(f"record_trace(dtypes={list(dtypes)}): torch has no dtype {unknown[0]!r}; try 'float32'.")
    place = find_device(device)
    rows = []
    for name in dtypes:
        rows += measure_matmul(sizes, [place.name], budget=budget / len(dtypes), dtype=getattr(torch, name))
    trace = _trace(path.stem, place, rows, notes, today or date.today().isoformat())
    document = trace.document()
    validate(document)
    path.write_text(_as_text(document), encoding="utf-8")
    return trace


def _trace(name, place, rows, notes, day):
    return Trace(
        name=name,
        hardware=place.hardware,
        driver=f"CUDA {torch.version.cuda}" if place.device.type == "cuda" else "",
        software={"torch": torch.__version__, "python": platform.python_version(), "system": platform.system()},
        date=day,
        notes=notes,
        matmul=tuple(rows),
    )


def _as_text(document):
    """JSON with one row a line, so that a difference between two traces can be read. Four digits: none has more."""
    rows = [{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()} for row in document["matmul"]]
    rows = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    head = json.dumps({**document, "matmul": []}, indent=2, ensure_ascii=False)
    return head.replace('"matmul": []', f'"matmul": [\n    {rows}\n  ]') + "\n"
