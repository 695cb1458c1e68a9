"""torch while GPUs are simulated: torch.cuda's driver replaced, what needs hardware refused, nothing compiled.

All is put back at the end.
"""

import functools
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import torch

from simgpu.cuda import scatter_gather, streams
from simgpu.cuda.c_library import c_functions, runtime
from simgpu.cuda.devices import Driver
from simgpu.cuda.generators import Generator
from simgpu.cuda.graphs import graphs
from simgpu.memory import host
from simgpu.replaced import replaced
from simgpu.state import Simulation

_log = logging.getLogger(__name__)
#: NVTX marks, by the names of its C library, for a profiler that isn't there: accepted and ignored.
_RANGES = SimpleNamespace(
    rangePushA=lambda message: 0,
    rangePop=lambda: 0,
    rangeStartA=lambda message: 0,
    rangeEnd=lambda index: None,
    markA=lambda message: None,
)

#: What simulated GPUs don't do: sensors, raw memory.
_REFUSED = (
    "utilization temperature power_draw clock_rate memory_usage device_memory_used list_gpu_processes memory_snapshot "
    "MemPool ExternalStream get_stream_from_external "
    "caching_allocator_alloc caching_allocator_delete current_blas_handle current_solver_handle _sleep "
    "host_memory_stats host_memory_stats_as_nested_dict set_sync_debug_mode"
).split()


@contextmanager
def patched(gpus: Simulation) -> Iterator[Driver]:
    """Within the `with`, torch.cuda and torch.accelerator answer for `gpus` (a `SimulatedGPUs`), in every thread.

    What torch.cuda's Python asks of its C library is answered by a simulated driver; `Event`, `Stream`, `Generator`,
    `pin_memory` and what simulated GPUs refuse are replaced. All is put back at the end, after an exception too. A
    *function* of torch.cuda that a program imported by name before works as well; a replaced *class* imported by name
    (`from torch.cuda import Event`) stays torch's own and fails as it does without a GPU: import it afterwards.
    """
    driver = Driver(gpus.clock, gpus.memory)
    with replaced(_replacements(driver, gpus.randomness.defaults)):
        _forget_answers()
        try:
            yield driver
        finally:
            _forget_answers()


def _replacements(driver, generators):
    """Yield (owner, name, value) for every attribute of torch that a simulation replaces."""
    cuda, answers = torch.cuda, c_functions(driver)
    for name, function in answers.items():
        yield torch._C, name, function
    for name, function in scatter_gather.c_functions().items():
        yield torch._C, name, function
    yield torch.cuda.nccl, "is_available", lambda tensors: False  # sums are then torch's own
    yield torch.cuda.nccl, "version", lambda: (2, 30, 7)  # those of torch 2.15's build with CUDA
    yield torch.version, "cuda", "13.0"
    yield torch._C, "_get_accelerator", lambda check=None: torch.device("cuda")
    # torch.cuda took these from its C library when it was imported.
    yield cuda, "_exchange_device", driver.exchange
    yield cuda, "_maybe_exchange_device", driver.exchange
    yield cuda, "_get_device_properties", driver.properties
    yield cuda, "_cudart", runtime(driver)
    yield cuda, "_is_in_bad_fork", answers["_cuda_isInBadFork"]
    yield cuda, "_initialized", True
    yield cuda, "_cached_device_count", None
    yield cuda, "default_generators", generators
    yield from graphs()
    for owner in (cuda, torch.cuda.memory):
        yield owner, "memory_summary", _summary(driver)
    yield from _streams()
    yield torch, "Generator", Generator
    yield torch.Tensor, "pin_memory", host.pin
    yield torch.Tensor, "is_pinned", host.is_pinned
    yield torch.Tensor, "record_stream", _record_stream
    yield torch.cuda.nvtx, "_nvtx", _RANGES
    yield torch.autograd.profiler.profile, "__init__", _without_hardware(torch.autograd.profiler.profile.__init__)
    # Layers ask it before they lay out their weights for a library that no simulation calls.
    yield torch.backends.cudnn, "is_acceptable", lambda tensor: False
    for owner in (cuda, torch.cuda.memory, torch.cuda.graphs):
        for name in _REFUSED:
            if name in vars(owner):
                yield owner, name, _refusal(name, vars(owner)[name])


def _streams():
    for name in ("Event", "Stream", "current_stream", "default_stream", "set_stream"):
        for owner in (torch, torch.cuda, torch.cuda.streams):
            if name in vars(owner):
                yield owner, name, getattr(streams, name)


def _forget_answers():
    """Drop the answers that torch keeps of questions about the hardware."""
    for owner, name in ((torch.cuda, "_check_bf16_tensor_supported"), (torch.accelerator, "get_device_capability")):
        function = getattr(owner, name, None)
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def _summary(driver):
    def memory_summary(device=None, abbreviated=False):
        index = torch.cuda._utils._get_device_index(device, optional=True)
        return driver.account(index).summary(f"Memory of cuda:{index}, {driver.properties(index).name}")

    return memory_summary


def _refusal(name, original):
    """Return what refuses a call of torch.cuda's `name`; for a class a class, so that `isinstance` still works."""

    def refused(*args, **kwargs):
        raise RuntimeError(
            f"torch.cuda.{name}: simulated GPUs do not do this. It needs a real one; "
            "help(simulated_gpus) says what works here."
        )

    return type(name, (original,), {"__new__": refused}) if isinstance(original, type) else refused


def _record_stream(tensor, stream):
    """Do nothing: CUDA needs to know of a stream that still reads freed memory, and here none does."""


def _without_hardware(start):
    """Return the profiler's `__init__` for a build that can't profile CUDA: its C++ would complain at every op."""

    @functools.wraps(start)
    def begin(profiler, *args, use_device=None, **kwargs):
        if use_device == "cuda":
            use_device = None
            warnings.warn(
                "Simulated GPUs have no hardware to profile: the profile shows the CPU, which simulates them. "
                "Their modelled seconds are in log_placement and in the simulation's clock.",
                stacklevel=3,
            )
        return start(profiler, *args, use_device=use_device, **kwargs)

    return begin


@contextmanager
def uncompiled() -> Iterator[None]:
    """Within the `with`, functions from `torch.compile` run uncompiled; `torch.export` is refused.

    The compiler gets that setting once it is loaded. Loading takes a second, and a program that compiles nothing is
    spared it.
    """
    compile_ = torch.compile
    with ExitStack() as stack:

        def compiled(*args, **kwargs):
            function = compile_(*args, **kwargs)
            eager()
            return function

        def eager():
            if not stances:
                _log.info("torch.compile: functions run uncompiled")
                stances.append(stack.enter_context(torch.compiler.set_stance("force_eager")))

        stances: list[Any] = []
        if "torch._dynamo" in sys.modules:
            eager()
        with replaced([(torch, "compile", compiled), (torch.export, "export", _not_exported)]):
            yield


def _not_exported(*args, **kwargs):
    raise NotImplementedError(
        "torch.export: simulated GPUs do not do this. Move the model to the CPU and close them first."
    )
