"""Random numbers on simulated GPUs: one generator for each device, which reports that device and draws on the CPU.

torch refuses to make a CUDA generator in a build without CUDA, so `DeviceGenerator` is a CPU generator under a device's
name. The same seed draws the CPU's numbers, on every simulated device the same; a real GPU draws others.
"""

import weakref

import torch

from simgpu.cuda.torch_classes import StandIn

_ORIGINAL = torch._C.Generator
_CPU = torch.device("cpu")
# Torch passes a generator through C++ and hands an op another Python object; the address of the C++ one stays.
_BELONGS: dict[int, torch.device] = {}


class DeviceGenerator(_ORIGINAL):
    """A generator whose `device` is a simulated GPU; seeds, states and draws are those of a CPU generator."""

    def __new__(cls, device):
        generator = super().__new__(cls, "cpu")
        generator._where = torch.device(device)
        _BELONGS[generator._cdata] = generator._where
        weakref.finalize(generator, _BELONGS.pop, generator._cdata, None).atexit = False
        return generator

    def __init__(self, device: "torch.device | str"):
        pass  # __new__ has taken the device; torch's own __init__ would read it as a CUDA generator's

    @property
    def device(self) -> torch.device:
        """The simulated device it belongs to."""
        return self._where

    def clone_state(self) -> "DeviceGenerator":
        """Return a new generator of the same device in the same state."""
        return _rebuilt(self._where, self.get_state())

    def __reduce__(self):
        return _rebuilt, (self._where, self.get_state())

    def __repr__(self):
        return f"<torch.Generator device='{self._where}', simulated>"


class Randomness:
    """The default generators of `count` simulated GPUs; each starts from the CPU's seed, as CUDA's start from one."""

    def __init__(self, count: int):
        self.defaults = tuple(DeviceGenerator(torch.device("cuda", index)) for index in range(count))
        for generator in self.defaults:
            generator.manual_seed(torch.initial_seed())

    def generator(self, index: int) -> DeviceGenerator:
        """Return the default generator of GPU `index`, on which an op draws that is given no generator."""
        return self.defaults[index]


def device_of(generator: torch.Generator) -> torch.device:
    """Return the `torch.device` that a generator belongs to."""
    return _BELONGS.get(generator._cdata, _CPU)


def check_generator(generator: torch.Generator, device: "torch.device | str") -> None:
    """Raise torch's RuntimeError when an op on `device` is given a generator of another kind of device.

    What is no generator is left to the op, which refuses it by a TypeError.
    """
    if not isinstance(generator, _ORIGINAL):
        return
    kind = device_of(generator).type
    if kind != torch.device(device).type:
        # The text of ATen's check_generator (ATen/core/Generator.h).
        wanted = torch.device(device).type
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{kind}'")


class Generator(metaclass=StandIn):
    """What `torch.Generator` is while GPUs are simulated: `Generator("cuda:1")` makes a `DeviceGenerator`."""

    original = _ORIGINAL

    def __new__(cls, device="cpu"):
        device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        if device.type != "cuda":
            return _ORIGINAL(device)
        index = torch.cuda.current_device() if device.index is None else device.index
        if index >= torch.cuda.device_count():
            raise RuntimeError("The device_index is invalid.")  # ATen/cuda/CUDAGeneratorImpl.cpp
        # CUDA's generators start from the same fixed number as the CPU's; a new CPU generator has it.
        return DeviceGenerator(torch.device("cuda", index))


def _rebuilt(device, state):
    generator = DeviceGenerator(device)
    generator.set_state(state)
    return generator
