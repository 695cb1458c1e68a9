"""Trace files: JSON beside this file; `load_trace(name)` reads one, `validate` says what is wrong with one."""

import json
from datetime import date
from pathlib import Path

from course.traces.datasheet import DataSheet
from course.traces.trace import SCHEMA, Trace

_FOLDER = Path(__file__).parent / "data"

# field -> legal types; a bool is never a number here
_COMMON = {"schema": int, "kind": str, "name": str, "hardware": str}
_FIELDS = {
    "recorded": {**_COMMON, "driver": str, "software": dict, "date": str, "notes": str, "matmul": list},
    "data sheet": {
        **_COMMON,
        "peak": dict,
        "memory": int,
        "memory_bandwidth": (int, float),
        "copy_bandwidth": (int, float),
        "launch": (int, float),
        "copy_latency": (int, float),
        "assumed": list,
        "sources": list,
    },
}
_SECONDS = ("to_device", "compute", "from_device", "first_call", "iqr")
_ROW = {
    "size": int,
    "device": str,
    "dtype": str,
    "repeats": int,
    "threads": int,
    **dict.fromkeys(_SECONDS, (int, float)),
}


def names():
    """Return the names of the traces and data sheets that come with the course.

    >>> "h200-data-sheet" in names()
    True
    """
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def load_trace(name):
    """Return the `Trace` (recorded) or `DataSheet` called `name`; a path to a JSON file of your own works too.

    Raises ValueError when there is none by that name, or when the file is not what `validate` accepts.
    """
    path = Path(name) if str(name).endswith(".json") else _FOLDER / f"{name}.json"
    if not path.is_file():
        legal = ", ".join(names())
        raise ValueError(
            f"load_trace({str(name)!r}): no such trace. There are {legal}; a path that ends in .json works too."
        )
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"load_trace({str(name)!r}): not JSON ({error}). Record it again with record_trace.") from None
    validate(document)
    return (Trace if document["kind"] == "recorded" else DataSheet).from_document(document)


def validate(document, today=None):
    """Return None when `document` (parsed JSON) is a trace or a data sheet; else raise ValueError naming the field.

    `today` (an ISO date) also refuses a trace recorded later than that; without it the clock of this machine decides
    nothing.
    """
    if not isinstance(document, dict):
        raise _wrong("the file", type(document).__name__, "a JSON object")
    kind = document.get("kind")
    if kind not in _FIELDS:
        raise _wrong("kind", kind, " or ".join(map(repr, _FIELDS)))
    _check_fields(document, _FIELDS[kind], "")
    if not 1 <= document["schema"] <= SCHEMA:
        raise _wrong("schema", document["schema"], f"1 to {SCHEMA}; a newer one needs a newer course")
    if kind == "data sheet":
        _check_sheet(document)
        return
    _check_date(document["date"], today)
    if not document["matmul"]:
        raise _wrong("matmul", "no rows", "one row a size")
    for number, row in enumerate(document["matmul"]):
        _check_row(row, f"matmul[{number}].")


def _check_fields(document, fields, prefix):
    for name, types in fields.items():
        if name not in document:
            raise _wrong(prefix + name, "nothing", "this field in every trace")
        if not isinstance(document[name], types) or isinstance(document[name], bool):
            legal = " or ".join(t.__name__ for t in (types if isinstance(types, tuple) else (types,)))
            raise _wrong(prefix + name, document[name], legal)
    extra = sorted(set(document) - set(fields))
    if extra:
        raise _wrong(prefix + extra[0], document[extra[0]], f"only the fields {', '.join(fields)}")


def _check_date(text, today):
    try:
        recorded = date.fromisoformat(text)
    except ValueError:
        raise _wrong("date", text, "an ISO date such as 2026-11-21") from None
    if today is not None and recorded > date.fromisoformat(today):
        raise _wrong("date", text, f"a day up to {today}; this one is in the future")


def _check_row(row, prefix):
    if not isinstance(row, dict):
        raise _wrong(prefix.rstrip("."), row, "a JSON object")
    _check_fields(row, _ROW, prefix)
    if row["size"] < 1:
        raise _wrong(prefix + "size", row["size"], "1 or more")
    for name in _SECONDS:
        if row[name] < 0 or (name == "compute" and row[name] == 0):
            raise _wrong(
                prefix + name, row[name], "seconds, more than 0" if name == "compute" else "seconds, 0 or more"
            )


def _check_sheet(document):
    positive = {f"peak.{k}": v for k, v in document["peak"].items()}
    positive |= {k: document[k] for k in ("memory", "memory_bandwidth", "copy_bandwidth")}
    for name, value in positive.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise _wrong(name, value, "a number more than 0")
    if not document["sources"]:
        raise _wrong("sources", [], "at least one: a figure without a source is a rumour")


def _wrong(field, given, legal):
    return ValueError(
        f"trace: {field} is {given!r}; legal is {legal}. Correct the file, or record it again with record_trace."
    )
