"""What placement says, and does, when a device isn't there or an op has no kernel on it."""

from course.devices.machine import list_devices
from course.devices.names import DeviceName


def resolve(device, soft=False):
    """Return `(torch.device, note)` for a name, `DeviceName`, `Device` or `torch.device`; the note is for the log.

    A device that this machine lacks is a ValueError that lists what there is; with `soft=True` it is the CPU, and the
    note says what was asked for.
    """
    name = DeviceName.parse(device)
    if name.job not in (None, "localhost"):  # TensorFlow calls the process itself /job:localhost
        raise ValueError(
            f"place(device={str(name)!r}): names a device of another task. Pin the work with "
            f"cluster.at({str(name)!r}), or leave the task out: place({str(name.local or '/cpu:0')!r})."
        )
    if name.local is None:
        raise ValueError(f"place(device={str(name)!r}): names a task, not a device. Add one: '{name}/cpu:0'.")
    # Every build of torch has these two; meta, shapes without numbers, is on no list.
    if str(name.local) in ("/cpu:0", "/meta:0"):
        return name.local.torch, ""
    here = list_devices()
    if str(name.local) in [known.name for known in here]:
        return name.local.torch, ""
    if soft:
        return DeviceName(kind="cpu", index=0).torch, f"asked for {name.local}: not on this machine"
    raise ValueError(
        f"place(device={str(name.local)!r}): this machine has {', '.join(map(_named, here))}.\n"
        f"Use one of these, pass soft=True to run on the CPU instead"
        f"{f', or practise with simulated_gpus({name.index + 1})' if name.kind == 'gpu' else ''}."
    )


def _named(device):
    return f"{device.name} (simulated)" if device.simulated else device.name


def missing_kernel(error):
    """Return whether torch's NotImplementedError says that the device lacks the op, not that the op lacks a feature."""
    text = str(error)
    return "Could not run" in text or "not currently implemented for the" in text or "no fake impl" in text
