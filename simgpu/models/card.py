"""A card: a JSON file with a model's figures, written by `simgpu calibrate`, or by hand as a data sheet is."""

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from simgpu.models.device_model import OF_A_SHEET, DeviceModel
from simgpu.models.op_seconds import BYTES

SCHEMA = 1
MEASURED, SIMULATED, SHEET = "measured card", "simulated card", "data sheet"


class Rule(NamedTuple):
    """Which values of a field are legal, by a function and in `words`."""

    holds: Callable[[Any], bool]
    words: str


def is_path(model: object) -> bool:
    """Return whether `model` is a path of a card rather than a model's name: a path object, or text in .json."""
    return isinstance(model, PathLike) or isinstance(model, str) and model.endswith(".json")


def is_card(path: "str | PathLike[str]") -> bool:
    """Return whether the file at `path` calls itself a card; it may still be refused as one."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, Mapping) and document.get("kind") in (MEASURED, SIMULATED)


def read_card(path: "str | PathLike[str]") -> DeviceModel:
    """Return the `DeviceModel` in the file at `path`: a card's, or a data sheet's as those that come with simgpu.

    Raises ValueError for a file that isn't there or can't be read, and for a field that is missing or not legal: its
    name, what it is, what is legal.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=float)
    except OSError as error:
        raise ValueError(f"model={str(path)!r}: the file can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"model={str(path)!r}: not JSON ({error}). `simgpu calibrate` writes a card.") from None
    try:
        return model_in(document)
    except ValueError as error:
        raise ValueError(f"model={str(path)!r}: {error}") from None


def model_in(document: object) -> DeviceModel:
    """Return the `DeviceModel` in `document`, parsed JSON; raises ValueError that names the field that isn't legal."""
    if not isinstance(document, Mapping):
        raise _wrong("the file", document, "a JSON object")
    _check(
        document, {"kind": _ONE_OF_KINDS, "schema": Rule(lambda value: _whole(value) and value == SCHEMA, str(SCHEMA))}
    )
    if document["kind"] == SHEET:
        _check(document, {name: rule for name, rule in FIGURES.items() if name in OF_A_SHEET})
        return DeviceModel.from_data_sheet(document)
    simulated = document["kind"] == SIMULATED
    agrees = Rule(lambda value: value is simulated, f"{str(simulated).lower()}, as it is a {document['kind']}")
    _check(document, {"simulated": agrees, "date": _TEXT} | FIGURES)
    figures = {name: document[name] for name in FIGURES}
    figures |= {"capability": tuple(document["capability"]), "assumed": tuple(document["assumed"])}
    return DeviceModel(**figures, origin=origin(document["hardware"], document["date"], simulated))


def origin(hardware: str, date: str, simulated: bool) -> str:
    """Return where a card's figures come from, in words.

    >>> origin("NVIDIA T4", "2026-11-23", simulated=False)
    'fitted to measurements on NVIDIA T4, 2026-11-23'
    """
    if simulated:
        return f"read off a simulated {hardware}, {date}, not measured"
    return f"fitted to measurements on {hardware}, {date}"


def _check(document, rules):
    for name, rule in rules.items():
        if name not in document:
            raise ValueError(f"{name} is missing; legal is {rule.words}.")
        if not rule.holds(document[name]):
            raise _wrong(name, document[name], rule.words)


def _wrong(name, value, legal):
    shown = repr(value)
    return ValueError(f"{name} is {shown if len(shown) < 80 else shown[:77] + '…'}; legal is {legal}.")


def _number(value):
    """Return whether `value` is a number; the bounds of a rule then leave out NaN and what is infinite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _speeds(value, least):
    """Return whether `value` has dtypes' names and numbers from `least` on, float32's among them."""
    if not isinstance(value, dict) or not value.keys() <= BYTES.keys():
        return False
    return "float32" in value and all(_number(speed) and least <= speed <= 1e20 for speed in value.values())


_DTYPES = ", ".join(BYTES)
_TEXT = Rule(lambda value: isinstance(value, str) and bool(value.strip()), "text")
_KINDS = (MEASURED, SIMULATED, SHEET)
_ONE_OF_KINDS = Rule(lambda kind: kind in _KINDS, f"one of {', '.join(map(repr, _KINDS))}")
_SECONDS = Rule(lambda value: _number(value) and 0 <= value <= 1, "seconds, 0 to 1")
_RATE = Rule(lambda value: _number(value) and 1 <= value <= 1e20, "bytes a second, 1 to 1e20")

#: Field of a card, and of a `DeviceModel` -> what is legal there.
FIGURES = {
    "name": _TEXT,
    "hardware": _TEXT,
    "memory": Rule(lambda value: _whole(value) and 2**20 <= value <= 2**50, "a whole number of bytes, 1 MiB to 1 PiB"),
    "launch": _SECONDS,
    "shortest_kernel": _SECONDS,
    "synchronise": _SECONDS,
    "peak": Rule(
        lambda value: _speeds(value, 1), f"an object of operations a second by dtype, float32 and others of {_DTYPES}"
    ),
    "half_size": Rule(
        lambda value: not value and isinstance(value, dict) or _speeds(value, 0),
        f"an object of sizes from 0 on by dtype, float32 and others of {_DTYPES}; or an empty one",
    ),
    "memory_bandwidth": _RATE,
    "copy_bandwidth": _RATE,
    "copy_bandwidth_pageable": _RATE,
    "copy_latency": _SECONDS,
    "peer_bandwidth": Rule(
        lambda value: _number(value) and 0 <= value <= 1e20, "bytes a second from one device to another, 0: not known"
    ),
    "capability": Rule(
        lambda value: isinstance(value, list) and len(value) == 2 and all(_whole(n) and 0 <= n < 100 for n in value),
        "two whole numbers, as [9, 0]",
    ),
    "multiprocessors": Rule(lambda value: _whole(value) and 0 <= value < 2**31, "a whole number, 0: not known"),
    "assumed": Rule(lambda value: isinstance(value, list) and all(isinstance(n, str) for n in value), "list of texts"),
}  # fmt: skip
