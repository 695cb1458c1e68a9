"""Starting and closing simulated GPUs: one simulation in a process, known to every thread."""

import atexit
import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack, contextmanager
from os import PathLike
from typing import Any

import torch

from simgpu import versions
from simgpu.autocast.autocasting import autocasting
from simgpu.calls.factory_kernels import kernels
from simgpu.calls.replaced_functions import answered
from simgpu.calls.wrapper_tensors import wrappers
from simgpu.clock.modelled_clock import ModelledClock
from simgpu.context.context import Context
from simgpu.cuda import nccl
from simgpu.cuda.ddp_buckets import buckets
from simgpu.cuda.generators import Randomness
from simgpu.cuda.torch_cuda import patched, uncompiled
from simgpu.memory.accounts import MemoryAccounts
from simgpu.memory.host import free_of_system
from simgpu.models.catalogue import model_for
from simgpu.models.device_model import DeviceModel
from simgpu.ops import saving, sync_batch_norm
from simgpu.replaced import replaced
from simgpu.simulated_tensor import SimulatedTensor
from simgpu.state import activate, active, opened
from simgpu.units import bytes_in_words, seconds_in_words

logging.getLogger("simgpu").addHandler(logging.NullHandler())  # nothing is printed unless a program configures it
_log = logging.getLogger(__name__)


def simulated_gpus(count: int = 1, model: "str | PathLike[str] | Mapping | DeviceModel" = "H200") -> "SimulatedGPUs":
    """Start `count` simulated GPUs and return them as `SimulatedGPUs`.

    From now on this process's PyTorch programs find `cuda:0` to `cuda:{count-1}`, in every thread, as on a machine that
    has them: values are the CPU's, devices, errors and their words are CUDA's, and `.clock` keeps modelled seconds,
    never measured ones.
    `model` says what is modelled: a data sheet by name ("H200", "T4") or as a mapping, the path of a card ("card.json")
    that `simgpu calibrate` wrote, or a `DeviceModel`, such as `calibrate(trace)` gives. Use it in a `with`, or over
    several cells and then `.close()`; afterwards its tensors refuse every use. One at a time in a process. A real GPU
    is hidden meanwhile. Numbers lie in this computer's memory, once for all devices.

    No mode is entered: ops on CPU tensors cost no more than before. Compiled functions run uncompiled. Refused
    plainly: sparse tensors but for an embedding's gradient, `torch.export`. Not seen: a C++ function that reads memory
    and that a program imported by name before. `from torch.utils.dlpack import to_dlpack` then gives out the numbers as
    the CPU's. Random numbers are the CPU's of the same seed, not a real GPU's. Raises ValueError for a count below 1 or
    above 128, RuntimeError while another is active and where torch is older than 2.11.

    >>> import torch
    >>> with simulated_gpus(2) as gpus:
    ...     x = torch.ones(2, device="cuda:1") * 3
    >>> x.device
    device(type='cuda', index=1)
    """
    return SimulatedGPUs(count, model)


class SimulatedGPUs:
    """`count` simulated GPUs of `model` (a `DeviceModel`), active until `close()` or the end of a `with`.

    `clock` is the `ModelledClock`, `memory` the accounts of every device, `places` the `torch.device` of each. A
    program that knows more (models by other names, how much memory its system has left, other pictures) says so in a
    class of its own: `find_model`, `free_of_system` and `clock_class` are there for it.
    """

    find_model: Callable[..., DeviceModel] = staticmethod(model_for)
    free_of_system: Callable[[], int] = staticmethod(free_of_system)
    clock_class: type[ModelledClock] = ModelledClock
    tensor_class: type[SimulatedTensor] = SimulatedTensor

    def __init__(self, count: int, model: Any = "H200"):  # whatever `find_model` knows
        if type(count) is not int or not 1 <= count <= 128:  # torch keeps the index in 8 bits
            raise ValueError(
                f"simulated_gpus(count={count!r}): give a whole number from 1 to 128, as in simulated_gpus(4)."
            )
        versions.check(torch.__version__)
        if active() is not None:
            raise RuntimeError(f"simulated_gpus({count}): {active()!r} is active already. Close it first: .close().")
        self.count = count
        self.model = self.find_model(model)
        self.clock = self.clock_class(self.model, count)
        self.closed = self.forked = False
        self.as_usual = True
        self.context = Context(self)
        self.memory = MemoryAccounts(self.model.memory, count, self.model.name, self.free_of_system)
        self.randomness = Randomness(count)
        self.places = [torch.device("cuda", index) for index in range(count)]
        self._blocks = 0  # `with` blocks of it that are open
        try:
            self._undo = self._put_in_place()
        except Exception as error:  # of a torch newer than those tried: AttributeError, RuntimeError, TypeError, …
            if not versions.is_tried(torch.__version__):
                raise RuntimeError(versions.newer(torch.__version__, error)) from error
            raise
        activate(self)
        atexit.register(self.close)
        memory = bytes_in_words(self.model.memory)
        _log.info("%d simulated GPUs start: %s, %s each, %s", count, self.model.hardware, memory, self.model.label)

    def _put_in_place(self):
        """Replace what is replaced of torch; return how to put it back. After an exception all is as it was."""
        with ExitStack() as undo:
            undo.enter_context(_swapped_parameters())
            self.driver = undo.enter_context(patched(self))
            undo.enter_context(saving.restored(self))
            undo.enter_context(uncompiled())
            undo.enter_context(kernels())
            undo.enter_context(sync_batch_norm.kernels())
            undo.enter_context(autocasting())
            undo.enter_context(answered(SimulatedTensor))
            undo.enter_context(wrappers())
            undo.enter_context(replaced(nccl.answers()))
            undo.enter_context(buckets())
            undo.enter_context(_default_device_kept())
            return undo.pop_all()

    def place(self, device: torch.device) -> torch.device:
        """Return the canonical `torch.device` for one of type cuda: the one object that tensors here carry.

        Raises CUDA's error for an index that no simulated GPU has.
        """
        index = self.driver.current() if device.index is None else device.index
        return opened(self).places[self.driver.legal(index)]

    def reset(self) -> None:
        """Begin anew, as a process that has just started: devices idle, the clock at 0, peaks of memory forgotten.

        This thread's current device is 0 and its streams are the default ones. Tensors stay, and so do generators. A
        context that a device-side assert has lost is a new one.
        """
        self.context.renew()
        torch.cuda.set_device(0)
        for index in range(self.count):
            self.clock.use_stream(self.clock.default_stream(index))
            account = self.memory.account(index)
            account.empty_cache()
            account.reset_peak()
        self.clock.reset()

    def close(self) -> None:
        """End the simulation; its tensors that still live refuse every use. Closing twice is closing once."""
        if self.closed:
            return
        self.closed, self.as_usual = True, False
        activate(None)
        self._undo.close()
        atexit.unregister(self.close)
        self.context.end()
        _log.info("%d simulated GPUs end: %s of the host, modelled", self.count, seconds_in_words(self.clock.host))

    def __enter__(self):
        if self.closed:
            raise RuntimeError(
                f"{self!r} is closed and doesn't start again: simulated_gpus({self.count}) starts others."
            )
        self._blocks += 1
        return self

    def __exit__(self, *error):
        self._blocks -= 1
        if not self._blocks:  # entered twice, it ends with the outer block
            self.close()

    def __repr__(self):
        return f"simulated_gpus({self.count}, model={self.model.name!r})"


@contextmanager
def _swapped_parameters():
    """Within the `with`, `module.to()` swaps parameters for the moved ones: `.data =` can't change a gradient's."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)


@contextmanager
def _default_device_kept():
    """After the `with`, this thread's default device is what it was, if one of type cuda was made it: that is gone."""
    before = _default_context()
    try:
        yield
    finally:
        context = _default_context()
        if context is not None and context is not before and context.device.type == "cuda":
            torch.set_default_device(None if before is None else before.device)


def _default_context():
    return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
