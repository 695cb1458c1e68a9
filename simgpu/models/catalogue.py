"""Models by name: the vendors' data sheets that come with the package, none measured, and a user's own cards."""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from simgpu.models.card import is_path, read_card
from simgpu.models.device_model import DeviceModel

DATA = Path(__file__).with_name("data")
_SUFFIX = "-data-sheet"


def data_sheets() -> dict[str, Path]:
    """Return name ("H200") -> the JSON file of its data sheet.

    >>> sorted(data_sheets())
    ['A100', 'B200', 'H100', 'H200', 'L4', 'RTX4090', 'T4']
    """
    return {path.stem.removesuffix(_SUFFIX).upper(): path for path in sorted(DATA.glob(f"*{_SUFFIX}.json"))}


def model_for(model: "str | PathLike[str] | Mapping | DeviceModel") -> DeviceModel:
    """Return the `DeviceModel` meant by a name ("H200"), a card's path, a data sheet's mapping, or a `DeviceModel`.

    A path is text that ends in .json, or a path object; `simgpu calibrate` writes such a file. Raises ValueError for a
    name that stands for no data sheet, a file that is no card and a mapping that lacks figures, TypeError for anything
    else.

    >>> model_for("H200")
    DeviceModel('H200', modelled: NVIDIA H200 SXM data sheet, not measured)
    """
    if isinstance(model, DeviceModel):
        return model
    if isinstance(model, Mapping):
        return DeviceModel.from_data_sheet(model)
    if is_path(model):
        return read_card(model)
    if not isinstance(model, str):
        raise TypeError(
            f"model={model!r}: give a name such as 'H200', a card's path, a data sheet's mapping or a DeviceModel."
        )
    sheets = data_sheets()
    name = model.upper().removesuffix(_SUFFIX.upper()).replace(" ", "")
    if name not in sheets:
        raise ValueError(
            f"model={model!r}: no data sheet by that name. {nearest(name, sheets)}Use {', '.join(sheets)}, the path "
            "of a card that `simgpu calibrate` wrote (card.json), or a DeviceModel of your own; "
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
