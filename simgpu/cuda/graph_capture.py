"""The capture of a CUDA graph: its ops in their order, with the very memory that they read and write.

While it is captured an op runs on the CPU like any other: the shapes of its results are known then. At the end all that
the ops wrote is put back, and new tensors hold NaN (0, where there is none): on CUDA, a capture runs nothing. A replay
runs the ops again and leaves each result where the capture had put it, if the program still has it; memory of results
that it let go is taken anew and given back, and counted as the graph's own as long as there is the graph.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._pytree import tree_leaves

from simgpu.clock.stream_queue import Queue
from simgpu.context import asserts
from simgpu.context.context import program_line
from simgpu.cuda.graph_memory import Places, Step
from simgpu.messages import NOT_IN_CAPTURE, cuda_error
from simgpu.ops.call import Call
from simgpu.ops.device_mismatch import written_to
from simgpu.ops.dispatch import attempted, results_of
from simgpu.ops.flops_and_bytes import work_of
from simgpu.state import Simulation

#: Write to arguments without torch's declaration saying so: the running mean and variance.
_WRITES = {"native_batch_norm": (3, 4), "batch_norm_update_stats": (1, 2)}
_copy, _clone, _fill = torch.ops.aten.copy_.default, torch.ops.aten.clone.default, torch.ops.aten.fill_.Scalar


class Tape:
    """The capture of a CUDA graph on `origin`, a stream of the clock, and what it has captured.

    `steps` are the ops. `mode` is CUDA's: "global", "thread_local", "relaxed". `streams`: the origin, and those that
    wait for what it does.
    `invalid` after an error that ends the capture.
    """

    def __init__(self, simulation: Simulation, origin: Queue, mode: str):
        self.simulation = simulation
        self.origin = origin
        self.index = origin.device
        self.invalid = False
        self.steps: list[Step] = []
        self._places = Places()
        self._mode, self._thread = mode, threading.get_ident()
        self.streams, self._unjoined = {origin}, set[Queue]()
        self._before: dict[tuple, tuple[Tensor, Tensor]] = {}  # what ops have written to, and what was there
        self._generators: dict[int, tuple[torch.Generator, Tensor]] = {}
        for generator in simulation.randomness.defaults:
            self.remember_state(generator)
        self._pool = simulation.memory.pool(self.index)

    def holds(self, stream: Queue) -> bool:
        """Return whether what this thread gives to `stream` is captured; raises where an error has ended that."""
        if stream not in self.streams:
            return False
        if self.invalid:
            raise invalidated()
        return True

    def refuse_wait(self) -> None:
        """Raise CUDA's error for a host that waits, and end the capture by it; other threads may, but for "global"."""
        if self._mode == "global" or threading.get_ident() == self._thread:
            self.invalid = True
            raise torch.AcceleratorError(NOT_IN_CAPTURE)

    def forked(self, stream: Queue, waits_for: Queue | None) -> None:
        """Note that `stream` waits for an event of `waits_for`, one of the capture's, None for one outside of it."""
        if waits_for is None:
            if stream in self.streams:
                self.invalid = True
                words = "dependency created on uncaptured work in another stream"
                raise torch.AcceleratorError(cuda_error(words, "cudaErrorStreamCaptureIsolation"))
            return
        self.streams.add(stream)
        if stream is not self.origin:
            self._unjoined.add(stream)
        self._unjoined.discard(waits_for)

    def remember_state(self, generator: torch.Generator) -> None:
        """Remember the state of `generator` from before the capture: it draws at each replay, not now."""
        self._generators.setdefault(generator._cdata, (generator, generator.get_state()))

    def op(self, call: Call, func: OpOverload, args: tuple, kwargs: dict, inner: list, options: dict) -> Any:
        """Capture an op as torch dispatches it, `inner` and `options` its arguments' numbers; return its results."""
        plan = call.plan
        if plan.waits and (not plan.indices or any(map(asserts.is_mask, inner[1]))):
            self.refuse_wait()
        if plan.random and options.get("generator") is not None:
            self.remember_state(options["generator"])
        for target in (*written_to(func, args, kwargs), *(inner[place] for place in _WRITES.get(plan.name, ()))):
            if target is not None:
                self.write(getattr(target, "numbers", target))

        on = Call(call.cls, plan)  # not the call itself: it has a tensor of the program
        on.where, on.simulation = call.where, call.simulation

        def run(inner, options):
            return attempted(func, plan, inner, options, on)

        numbers, _ = run(inner, options)
        result = results_of(call, args, kwargs, numbers)
        if not plan.view:
            work = work_of(func, inner, options, numbers)
            seconds = self.simulation.model.seconds(work) if work.flops or work.bytes else 0.0
            line = program_line() if plan.asserts else ""
            self.add(run, (inner, options), numbers, result, (args, kwargs), ("compute", seconds, plan.name), line)
        return result

    def add(
        self, run: Callable, arguments: tuple, numbers: Any, result: Any, shown: Any, part: tuple, line: str = ""
    ) -> None:
        """Note a step: `run(*arguments)` makes `numbers`, plain tensors; their `result` is on the device.

        A result that is among `shown`, the arguments as the program passed them, is no new tensor. `part` (engine,
        seconds, name) is for the clock; `line` is the program's.
        """
        old = {id(value) for value in tree_leaves(shown)}
        # `_unsafe_view` gives its argument back
        shared = {_storage(value) for value in tree_leaves(arguments) if isinstance(value, Tensor)}
        places = self._places.noted(arguments)
        outputs = []
        for place, (plain, value) in enumerate(zip(tree_leaves(numbers), tree_leaves(result), strict=True)):
            plain_result = getattr(value, "numbers", value)
            if isinstance(plain, Tensor) and id(value) not in old and _storage(plain_result) not in shared:
                outputs.append((place, self._places.new(plain_result)))
        self.steps.append(Step(run, places, outputs, part, line))

    def write(self, target: Tensor) -> None:
        """Note that the step that is added next writes to the plain tensor `target`."""
        key = (_storage(target), target.storage_offset(), target.shape, target.stride())
        if not self._places.holds(target) and key not in self._before:
            self._before[key] = target, _clone(target)

    def finish(self) -> None:
        """End the capture: put back what was there before it, so that it has run nothing."""
        with hidden():
            for target, before in reversed(self._before.values()):
                _copy(target, before)
            for numbers in self._places.settle(self.steps):
                _fill(numbers, float("nan") if numbers.is_floating_point() or numbers.is_complex() else 0)
        for generator, state in self._generators.values():
            generator.set_state(state)
        self._before.clear()
        self._pool.hold()
        if self._unjoined and not self.invalid:
            self.invalid = True
            words = "capturing stream has unjoined work"
            raise torch.AcceleratorError(cuda_error(words, "cudaErrorStreamCaptureUnjoined"))

    def replay(self) -> None:
        """Run all steps, in their order: one launch on the clock. After a failed assert the others don't run."""
        failed, parts, step = None, [], None
        with hidden():
            for step, arguments in self._places.replayed(self.steps):
                numbers, failed = step.run(*arguments)
                parts.append(step.part)
                if failed is not None:
                    break
                self._places.put(step, tree_leaves(numbers))
        self.simulation.clock.replay(self.index, [part for part in parts if part[1]], "CUDA graph")
        if failed is not None:
            self.simulation.context.failed(self.index, failed, step.line)


def _storage(tensor):
    return tensor.untyped_storage()._cdata


def invalidated() -> Exception:
    """Return CUDA's error for what follows, in a capture, the error that ended it."""
    words = "operation failed due to a previous error during capture"
    return torch.AcceleratorError(cuda_error(words, "cudaErrorStreamCaptureInvalidated"))


@contextmanager
def hidden() -> Iterator[None]:
    """Within the `with`, neither autograd nor a program's log sees an op on plain numbers."""
    with torch.inference_mode(), torch._C._DisableTorchDispatch():
        yield
