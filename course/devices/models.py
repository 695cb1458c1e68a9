"""Which model simulated GPUs are given: a data sheet or a recorded trace, by name, or a model itself."""

from dataclasses import asdict

from course.traces import DataSheet, Trace, load_trace, names
from simgpu import DeviceModel, calibrate


def model_for(given: "str | DataSheet | Trace | DeviceModel") -> DeviceModel:
    """Return the `DeviceModel` meant by a name ("H200", "T4", a trace's), a `DataSheet`, a `Trace` or a `DeviceModel`.

    A data sheet's figures are taken as they are; a trace is fitted by `calibrate`. Raises ValueError for a name that
    stands for neither, TypeError for anything else.

    >>> model_for("H200")
    DeviceModel('H200', modelled: NVIDIA H200 SXM data sheet, not measured)
    """
    if isinstance(given, DeviceModel):
        return given
    if isinstance(given, DataSheet):
        return DeviceModel.from_data_sheet(asdict(given))
    if isinstance(given, Trace):
        return calibrate(given)  # type: ignore[arg-type]  # it is frozen, and only read
    if not isinstance(given, str):
        raise TypeError(f"model={given!r}: give a name such as 'H200', a DataSheet, a Trace or a DeviceModel.")
    known = names()
    for name in (given, f"{given.lower()}-data-sheet"):
        if name in known or name.endswith(".json"):
            return model_for(load_trace(name))
    short = [name.removesuffix("-data-sheet").upper() for name in known if name.endswith("-data-sheet")]
    traces = [name for name in known if not name.endswith("-data-sheet")]
    raise ValueError(
        f"model={given!r}: no data sheet and no trace by that name. Use {', '.join(short)} (data sheets), "
        f"{', '.join(traces)} (recorded), or the path of a trace of your own that ends in .json."
    )
