"""`problem(document)`: what a document breaks of schema.json, in words; the part of JSON Schema that file uses.

Plain Python, since traces are read where no Jupyter (and so no jsonschema) is installed. A test holds the two together:
both accept and refuse the same documents.
"""

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Problem:
    """What is wrong: `field` as a path such as `matmul[3].compute`, what was `given` there, what is `legal`."""

    field: str
    given: object
    legal: str


def problem(document, definition):
    """Return the first `Problem` of `document` (parsed JSON) under one of the schema's definitions, None where none is.

    `definition` is "recorded-1", "recorded-2" or "data-sheet".
    """
    return _problem(document, _schema()["$defs"][definition], "")


@cache
def _schema():
    return json.loads((files("course.traces") / "schema.json").read_text(encoding="utf-8"))


def _problem(value, rule, path):
    if "$ref" in rule:
        return _problem(value, _schema()["$defs"][rule["$ref"].rpartition("/")[2]], path)
    if not _fits(value, rule):
        return Problem(path or "the file", value, rule.get("description", "a JSON object"))
    if isinstance(value, dict):
        return _problem_of_object(value, rule, path)
    if isinstance(value, list):
        found = (_problem(item, rule["items"], f"{path}[{i}]") for i, item in enumerate(value))
        return next(filter(None, found), None)
    return None


def _problem_of_object(value, rule, path):
    prefix = path and f"{path}."
    known, others = rule.get("properties", {}), rule["additionalProperties"]
    for name in rule.get("required", []):
        if name not in value:
            return Problem(prefix + name, "nothing", f"this field in every one: {known[name].get('description', name)}")
    for name, item in value.items():
        if name not in known and others is False:
            return Problem(prefix + name, item, f"only the fields {', '.join(known)}")
        found = _problem(item, known.get(name, others), prefix + name)
        if found:
            return found
    return None


def _fits(value, rule):
    """Whether `value` itself, not what lies in it, keeps to `rule`."""
    if "const" in rule:
        return value == rule["const"]
    if "enum" in rule:
        return value in rule["enum"]
    return _TYPES[rule["type"]](value, rule)


def _is_number(value, rule):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return False  # Python's JSON reads NaN and Infinity, which JSON has not
    return value >= rule.get("minimum", -math.inf) and value > rule.get("exclusiveMinimum", -math.inf)


_TYPES = {
    "object": lambda value, rule: isinstance(value, dict) and len(value) >= rule.get("minProperties", 0),
    "array": lambda value, rule: isinstance(value, list) and len(value) >= rule.get("minItems", 0),
    "number": _is_number,
    "integer": lambda value, rule: _is_number(value, rule) and float(value).is_integer(),
    "string": lambda value, rule: (
        isinstance(value, str)
        and len(value) >= rule.get("minLength", 0)
        and re.search(rule.get("pattern", ""), value) is not None
    ),
}
