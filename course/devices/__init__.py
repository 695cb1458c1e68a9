"""Where a tensor lives and where an op runs: names, the machine's devices, placement, and a log that shows it.

>>> from course import log_placement, place
>>> import torch
>>> a = torch.ones(2, 3)
>>> with place("/cpu:0"), log_placement() as log:
...     b = a @ a.T
>>> print(log)
permute  /cpu:0  (2, 3) -> (3, 2)         float32  view
mm       /cpu:0  (2, 3) (3, 2) -> (2, 2)  float32

`place` sees the ops that you wrote (`matmul`), the log those that ran (`permute` for `.T`, then `mm`). Both work in the
thread that entered them and in the backward passes it starts; another thread enters the same objects again.

Read in this order: `names` (what a device is called), `device_list` (which are here), `placement` (where ops run, by
their `rules`, with `moves` and `fallback`), `log` (what ran, kept by `recorder` as `record`s, joined by `dataflow`),
`simulated` (GPUs that are not here), `explore` (which placement takes least time).
"""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.devices.device_list import Device, DeviceList, list_devices
    from course.devices.log import PlacementLog, log_placement
    from course.devices.names import DeviceName
    from course.devices.placement import Op, Placement, place
    from course.devices.record import OpRecord
    from course.devices.simulated import SimulatedGPUs, simulated_gpus

__all__ = [
    "Device",
    "DeviceList",
    "DeviceName",
    "Op",
    "OpRecord",
    "Placement",
    "PlacementLog",
    "SimulatedGPUs",
    "list_devices",
    "log_placement",
    "place",
    "simulated_gpus",
]
