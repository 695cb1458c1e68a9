"""Trace files: `load_trace(name)` reads one, `validate` says what is wrong with one.

Recorded traces lie beside this file; data sheets lie with simgpu, which models GPUs after them.
"""

import json
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import fastjsonschema

from course.traces.datasheet import DataSheet
from course.traces.trace import SCHEMA, Trace
from simgpu.models.catalogue import DATA

_FOLDER = Path(__file__).parent / "data"


def names() -> list[str]:
    """Return the names of the traces and data sheets that come with the course.

    >>> "h200-data-sheet" in names()
    True
    """
    return sorted(_files())


def _files() -> dict[str, Path]:
    return {path.stem: path for folder in (_FOLDER, DATA) for path in folder.glob("*.json")}


def load_trace(name: str | Path) -> Trace | DataSheet:
    """Return the `Trace` (recorded) or `DataSheet` called `name`; a path to a JSON file of your own works too.

    Raises ValueError when there is none by that name, when the file is not what `validate` accepts, or when a file of
    your own was recorded on a day that has not come yet.
    """
    own = str(name).endswith(".json")
    path = Path(name) if own else _files().get(str(name))
    if path is None or not path.is_file():
        legal = ", ".join(names())
        raise ValueError(
            f"load_trace({str(name)!r}): no such trace. There are {legal}; a path that ends in .json works too."
        )
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no JSON, or no UTF-8
        raise ValueError(f"load_trace({str(name)!r}): not JSON ({error}). Record it again with record_trace.") from None
    # Where it was recorded it may be tomorrow already. The course's own files must load however wrong a clock is.
    validate(document, today=(date.today() + timedelta(days=1)).isoformat() if own else None)
    return (Trace if document["kind"] == "recorded" else DataSheet).from_document(document)


def validate(document: object, today: str | None = None) -> None:
    """Return None when `document` (parsed JSON) is a trace or a data sheet; else raise ValueError naming the field.

    The rules stand in schema.json (JSON Schema, draft 2020-12), beside this file; an older schema is legal, a newer one
    is not. `today` (an ISO date) also refuses a trace recorded later than that; without it the clock of this machine
    decides nothing.
    """
    if not isinstance(document, dict):
        raise _wrong("the file", type(document).__name__, "a JSON object")
    for name in ("kind", "schema"):
        if name not in document:
            raise _wrong(name, "nothing", "this field in every trace")
    kind, schema = document["kind"], document["schema"]
    if kind not in ("recorded", "data sheet"):
        raise _wrong("kind", kind, "'recorded' or 'data sheet'")
    if isinstance(schema, bool) or schema not in range(1, SCHEMA + 1):
        raise _wrong("schema", schema, f"1 to {SCHEMA}; a newer one needs a newer course")
    look = _validator(f"recorded-{int(schema)}" if kind == "recorded" else "data-sheet")
    try:
        look(json.loads(json.dumps(document, default=repr), parse_constant=_NoNumber))
    except fastjsonschema.JsonSchemaValueException as error:
        raise _in_words(error) from None
    if kind == "recorded":
        _check_date(document["date"], today)


@cache
def _validator(definition: str) -> Callable:
    """fastjsonschema, not jsonschema: it compiles the schema once (25 ms) and then takes a tenth of the time.

    msgspec would want the schema a second time, as Python types.
    """
    schema = json.loads(Path(__file__).with_name("schema.json").read_text(encoding="utf-8"))
    return fastjsonschema.compile({**schema["$defs"][definition], "$defs": schema["$defs"]})


def _in_words(error: fastjsonschema.JsonSchemaValueException) -> ValueError:
    rule, value = error.definition, error.value
    path = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in error.path[1:]).lstrip(".")
    fields, prefix = rule.get("properties", {}), path and f"{path}."
    if error.rule == "required":
        name = next(name for name in rule["required"] if name not in value)
        return _wrong(prefix + name, "nothing", f"this field in every one: {fields[name].get('description', name)}")
    if error.rule == "additionalProperties":
        name = next(name for name in value if name not in fields)
        return _wrong(prefix + name, value[name], f"only the fields {', '.join(fields)}")
    return _wrong(path or "the file", value, rule.get("description", "a JSON object"))


class _NoNumber:
    """NaN or Infinity, which Python's JSON reads and JSON has not: no rule takes it, and it prints as the number."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return repr(float(self._name))


def _check_date(text, today):
    try:
        recorded = date.fromisoformat(text)
    except ValueError:
        raise _wrong("date", text, "an ISO date such as 2026-11-21") from None
    if today is not None and recorded > date.fromisoformat(today):
        raise _wrong("date", text, f"a day up to {today}; this one is in the future")


def _wrong(field, value, legal):
    return ValueError(
        f"trace: {field} is {value!r}; legal is {legal}. Correct the file, or record it again with record_trace."
    )
