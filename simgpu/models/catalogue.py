"""The models that come with the package, by name: vendors' data sheets as JSON files, none of them measured."""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from simgpu.models.device_model import DeviceModel

DATA = Path(__file__).with_name("data")
_SUFFIX = "-data-sheet"


def data_sheets() -> dict[str, Path]:
    """Return name ("H200") -> the JSON file of its data sheet.

    >>> sorted(data_sheets())
    ['A100', 'B200', 'H100', 'H200', 'L4', 'RTX4090', 'T4']
    """
    return {path.stem.removesuffix(_SUFFIX).upper(): path for path in sorted(DATA.glob(f"*{_SUFFIX}.json"))}


def model_for(given: "str | Mapping | DeviceModel") -> DeviceModel:
    """Return the `DeviceModel` meant by a name ("H200", "RTX 4090"), a data sheet's mapping, or a `DeviceModel`.

    Raises ValueError for a name that stands for no data sheet and for a mapping that lacks figures, TypeError for
    anything else.

    >>> model_for("H200")
    DeviceModel('H200', modelled: NVIDIA H200 SXM data sheet, not measured)
    """
    if isinstance(given, DeviceModel):
        return given
    if isinstance(given, Mapping):
        return DeviceModel.from_data_sheet(given)
    if not isinstance(given, str):
        raise TypeError(f"model={given!r}: give a name such as 'H200', a data sheet's mapping or a DeviceModel.")
    sheets = data_sheets()
    name = given.upper().removesuffix(_SUFFIX.upper()).replace(" ", "")
    if name not in sheets:
        raise ValueError(
            f"model={given!r}: no data sheet by that name. {nearest(name, sheets)}Use {', '.join(sheets)}, or a "
            "DeviceModel of your own; "
            "calibrate(trace) fits one to a recorded trace."
        )
    return DeviceModel.from_data_sheet(json.loads(sheets[name].read_text(encoding="utf-8")))


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a sentence that asks for the nearest of `names`, with a space after it; "" where none is near.

    >>> nearest("H20", ["A100", "H200"])
    "Did you mean 'H200'? "
    """
    near = get_close_matches(name, names, 1)
    return f"Did you mean {near[0]!r}? " if near else ""
