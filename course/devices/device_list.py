"""The devices of this machine: a list that names each one, says how much memory it has and what it is."""

import platform
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import torch

from course.compiled import cores
from course.devices.names import DeviceName
from course.draw import table
from simgpu.cuda.device_properties import properties_of
from simgpu.state import active

if TYPE_CHECKING:
    from simgpu import SimulatedGPUs


@dataclass(frozen=True, repr=False)
class Device:
    """A device: `name` in full, `kind` (`cpu`, `gpu`, `mps`), `memory` in bytes, `description` in words.

    `simulated` says that no such hardware is there. `capability` is a CUDA GPU's compute capability, such as `(9, 0)`,
    of a simulated one its model's, and None where it is not known and of every other device. The repr shows name and
    kind, and `simulated` where it is: it is the same on every machine.
    """

    name: str
    kind: str
    memory: int
    description: str
    simulated: bool = False
    capability: tuple[int, int] | None = None

    def __repr__(self):
        word = ", simulated=True" if self.simulated else ""
        return f"Device(name={self.name!r}, kind={self.kind!r}{word})"

    def __str__(self):
        return self.name


class DeviceList(list):
    """A list of `Device`; `print` shows it as aligned text, a notebook as a table."""

    def __str__(self):
        rows = [("name", "memory", "description"), *((d.name, _gib(d.memory), _described(d)) for d in self)]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        return "\n".join(f"{n:<{widths[0]}}  {m:>{widths[1]}}  {text}" for n, m, text in rows)

    def _repr_mimebundle_(self, include=None, exclude=None):
        rows = [(d.name, d.kind, _gib(d.memory), _described(d)) for d in self]
        words = ", ".join(d.name for d in self)
        shown = table(["device", "kind", "memory", "description"], rows, f"The devices of this machine: {words}")
        return {"text/plain": repr(self), "text/html": shown.html}


def list_devices(job: str | None = None, task: int | None = None) -> DeviceList:
    """Return this machine's devices as a `DeviceList`: the CPU first, then CUDA GPUs in order, then Apple's MPS.

    While `simulated_gpus` are open they stand for the CUDA GPUs, each marked `simulated`.

    `job` and `task`, where given, go in front of every name, as in `/job:worker/task:1/cpu:0`. `memory` is bytes: of
    the CPU what this process may use (a container's limit counts), of a GPU all of its own. Looks only at this
    machine; a cluster's devices are `cluster.devices()`.

    >>> list_devices()[0]
    Device(name='/cpu:0', kind='cpu')
    >>> list_devices("worker", 1)[0].name
    '/job:worker/task:1/cpu:0'
    """
    devices = [_cpu(), *_gpus(), *_mps()]
    with_names = [(replace(DeviceName.parse(device.name), job=job, task=task), device) for device in devices]
    return DeviceList(replace(device, name=str(name)) for name, device in with_names)


def _cpu():
    count = cores()
    plural = "" if count == 1 else "s"
    return Device("/cpu:0", "cpu", _cpu_memory(), f"{cpu_model()}, {count} core{plural}")


def _gpus():
    gpus = active()
    if gpus is not None:
        return as_devices(gpus)
    if not torch.cuda.is_available():
        return []
    every = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    words = "{0.name}, compute capability {0.major}.{0.minor}".format
    return [
        Device(f"/gpu:{index}", "gpu", p.total_memory, words(p), capability=(p.major, p.minor))
        for index, p in enumerate(every)
    ]


def as_devices(gpus: "SimulatedGPUs") -> list[Device]:
    """Return the simulated GPUs `gpus` as `Device`s."""
    model = gpus.model
    capability = properties_of(model, 0).capability
    listed = any(capability)  # a trace may be of hardware whose capability nobody has listed
    words = f"{model.name}, compute capability {capability[0]}.{capability[1]}" if listed else model.name
    return [
        Device(f"/gpu:{index}", "gpu", model.memory, words, True, capability if listed else None)
        for index in range(gpus.count)
    ]


def _mps():
    if not torch.backends.mps.is_available():
        return []
    return [Device("/mps:0", "mps", torch.mps.recommended_max_memory(), "Apple GPU, memory shared with the CPU")]


def _cpu_memory():
    """Return the bytes that this process may use: the machine's, or its container's limit where that is lower."""
    limits = [psutil.virtual_memory().total]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(path).read_text()))
        except (OSError, ValueError):
            continue  # no such control group here, or it says "max": no limit
    return min(limits)


@cache
def cpu_model():
    """Return the processor's name as the system gives it, or its architecture where it gives none: a string."""
    if platform.system() == "Linux":
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        return models[0] if models else platform.machine()
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=1, check=False)
        return answer.stdout.strip() or platform.machine()
    return platform.processor() or platform.machine()


def _gib(count):
    return f"{count / 2**30:.1f} GiB"


def _described(device):
    marked = "simulated" in device.description
    return f"{device.description} (simulated)" if device.simulated and not marked else device.description
