"""`problem(document)`: what a document breaks of schema.json, in words. fastjsonschema looks, this file says.

fastjsonschema, not jsonschema: it compiles the schema once (25 ms) and then takes a tenth of the time. msgspec would
want the schema a second time, as Python types.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import fastjsonschema


@dataclass(frozen=True)
class Problem:
    """What is wrong: `field` as a path such as `matmul[3].compute`, what was `given` there, what is `legal`."""

    field: str
    given: object
    legal: str


def problem(document: dict, definition: str) -> Problem | None:
    """Return the first `Problem` of `document` (parsed JSON) under one of the schema's definitions, None where none is.

    `definition` is "recorded-1", "recorded-2" or "data-sheet".
    """
    try:
        _validator(definition)(json.loads(json.dumps(document, default=repr), parse_constant=_NoNumber))
    except fastjsonschema.JsonSchemaValueException as error:
        return _in_words(error)
    return None


@cache
def _validator(definition: str) -> Callable:
    schema = json.loads((files("course.traces") / "schema.json").read_text(encoding="utf-8"))
    return fastjsonschema.compile({**schema["$defs"][definition], "$defs": schema["$defs"]})


def _in_words(error: fastjsonschema.JsonSchemaValueException) -> Problem:
    rule, value = error.definition, error.value
    path = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in error.path[1:]).lstrip(".")
    known, prefix = rule.get("properties", {}), path and f"{path}."
    if error.rule == "required":
        name = next(name for name in rule["required"] if name not in value)
        return Problem(prefix + name, "nothing", f"this field in every one: {known[name].get('description', name)}")
    if error.rule == "additionalProperties":
        name = next(name for name in value if name not in known)
        return Problem(prefix + name, value[name], f"only the fields {', '.join(known)}")
    return Problem(path or "the file", value, rule.get("description", "a JSON object"))


class _NoNumber:
    """NaN or Infinity, which Python's JSON reads and JSON has not: no rule takes it, and it prints as the number."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return repr(float(self._name))
