"""What a CUDA graph holds: the ops of a capture, in their order, with the very memory that they read and write.

While it is captured an op runs on the CPU like any other: its results' shapes are known, and so are their places in
memory. At the end all that the ops wrote is put back, and new tensors hold NaN (or 0, where there is none): on CUDA, a
capture runs nothing. A replay runs the ops again and leaves each result where the capture had put it.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._pytree import tree_leaves

from simgpu.clock.modelled_clock import Queue
from simgpu.context import asserts
from simgpu.context.context import program_line
from simgpu.messages import capture_error, not_in_capture
from simgpu.ops import cost
from simgpu.ops.call import Call
from simgpu.ops.dispatch import drawn, results_of
from simgpu.ops.mismatch import written_to
from simgpu.state import Simulation


class Step(NamedTuple):
    """An op of a graph: `run()` does it and gives its results; those at `kept`'s places are copied to its tensors.

    `part` is what the clock is told: engine, seconds, name. `failed` says what an assert of it finds, None for nothing.
    """

    run: Callable[[], Any]
    kept: Sequence[tuple[int, Tensor]]
    part: tuple[str, float, str]
    failed: Callable[[], Any] | None = None
    line: str = ""


class Tape:
    """The capture of a CUDA graph on `origin`, a stream of the clock, and what it has captured: `steps`, in order.

    `mode` is CUDA's: "global", "thread_local", "relaxed".
    """

    def __init__(self, simulation: Simulation, origin: Queue, mode: str):
        self.simulation = simulation
        self.origin = origin
        self.index = origin.device
        self.steps: list[Step] = []
        self.invalid = False
        self._mode, self._thread = mode, threading.get_ident()
        self._streams, self._unjoined = {origin}, set()
        self._before: dict[tuple, tuple[Tensor, Tensor]] = {}  # what ops have written to, and what was there
        self._made: dict[int, Any] = {}  # address of a storage that was made here -> the storage
        self._generators: dict[int, tuple[torch.Generator, Tensor]] = {}
        for generator in simulation.randomness.defaults:
            self.remember_state(generator)

    def holds(self, stream: Queue) -> bool:
        """Return whether what this thread gives to `stream` is captured; raises where an error has ended the capture."""
        if stream not in self._streams:
            return False
        if self.invalid:
            raise torch.AcceleratorError(
                capture_error(
                    "operation failed due to a previous error during capture", "cudaErrorStreamCaptureInvalidated"
                )
            )
        return True

    def refuse_wait(self) -> None:
        """Raise CUDA's error for a host that waits, and end the capture by it; other threads may, but for "global"."""
        if self._mode == "global" or threading.get_ident() == self._thread:
            self.invalid = True
            raise torch.AcceleratorError(not_in_capture())

    def forked(self, stream: Queue, waits_for: Queue | None) -> None:
        """Note that `stream` waits for an event of `waits_for`, one of the capture's, None for one outside of it."""
        if waits_for is None:
            if stream in self._streams:
                self.invalid = True
                raise torch.AcceleratorError(
                    capture_error(
                        "dependency created on uncaptured work in another stream", "cudaErrorStreamCaptureIsolation"
                    )
                )
            return
        self._streams.add(stream)
        if stream is not self.origin:
            self._unjoined.add(stream)
        self._unjoined.discard(waits_for)

    def remember_state(self, generator: torch.Generator) -> None:
        """Remember the state of `generator` from before the capture: it draws at each replay, not now."""
        self._generators.setdefault(generator._cdata, (generator, generator.get_state()))

    def op(self, call: Call, func: OpOverload, args: tuple, kwargs: dict, inner: list, named: dict) -> Any:
        """Capture an op as torch dispatches it, `inner` and `named` its arguments' plain numbers; return its results."""
        plan = call.plan
        if plan.waits and (not plan.indices or any(asserts.is_mask(index) for index in inner[1])):
            self.refuse_wait()
        if plan.random and named.get("generator") is not None:
            self.remember_state(named["generator"])
        for target in written_to(func, args, kwargs):
            self._keep(target)
        failed = asserts.failed(plan.name, inner, named) if plan.asserts else None
        run = lambda: drawn(func, plan, inner, named, call) if plan.random else func(*inner, **named)  # noqa: E731
        made = run() if failed is None else _repaired(func, plan, failed, call)
        result = results_of(call, args, kwargs, made)
        if not plan.view:
            work = cost.work_of(func, inner, named, made)
            seconds = self.simulation.model.seconds(work) if work.flops or work.bytes else 0.0
            look = (lambda: asserts.failed(plan.name, inner, named)) if plan.asserts else None
            self.add(run, made, result, (args, kwargs), ("compute", seconds, plan.name), look)
        return result

    def add(self, run: Callable, made: Any, result: Any, given: Any, part: tuple, failed: Any = None) -> None:
        """Note a step that `run()` does: `made` on the CPU, `result` of it on the device, of the arguments `given`."""
        known = {id(value) for value in tree_leaves(given)}
        kept = []
        for place, (plain, value) in enumerate(zip(tree_leaves(made), tree_leaves(result), strict=True)):
            if isinstance(plain, Tensor) and id(value) not in known:
                numbers = getattr(value, "numbers", value)
                storage = numbers.untyped_storage()
                self._made[storage._cdata] = storage
                kept.append((place, numbers))
        if part[2].startswith(("empty", "new_empty")):
            return
        self.steps.append(Step(run, kept, part, failed, program_line() if failed else ""))

    def write(self, target: Tensor) -> None:
        """Note that a step, which is added next, writes to the plain tensor `target`."""
        key = (target.untyped_storage()._cdata, target.storage_offset(), target.shape, target.stride())
        if key[0] not in self._made and key not in self._before:
            self._before[key] = target, torch.ops.aten.clone.default(target)

    def _keep(self, target):
        self.write(getattr(target, "numbers", target))

    def finish(self) -> None:
        """End the capture: put back what was there before it, so that it has run nothing."""
        with hidden():
            for target, before in reversed(self._before.values()):
                torch.ops.aten.copy_.default(target, before)
            for step in self.steps:
                for _, numbers in step.kept:
                    torch.ops.aten.fill_.Scalar(numbers, _nothing(numbers.dtype))
        for generator, state in self._generators.values():
            generator.set_state(state)
        self._before.clear()
        self._made.clear()
        if self._unjoined and not self.invalid:
            raise torch.AcceleratorError(
                capture_error("capturing stream has unjoined work", "cudaErrorStreamCaptureUnjoined")
            )

    def replay(self) -> None:
        """Run all steps, in their order: one launch on the clock."""
        failed = None
        with hidden():
            for step in self.steps:
                found = step.failed() if step.failed is not None and failed is None else None
                if found is not None:
                    failed = found.said, step.line
                if failed is not None:
                    break  # the kernels after it don't run: the context is lost
                leaves = tree_leaves(step.run())
                for place, numbers in step.kept:
                    torch.ops.aten.copy_.default(numbers, leaves[place])
        self.simulation.clock.replay(self.index, [step.part for step in self.steps if step.part[1]], "CUDA graph")
        if failed is not None:
            self.simulation.context.failed(self.index, *failed)


def hidden() -> Any:
    """Return a context in which ops on plain numbers are seen neither by autograd nor by a program's logs."""
    return torch._C._DisableTorchDispatch()


def _repaired(func, plan, failed, call):
    """Run an op with what its kernel would take: what it gives in a capture is thrown away."""
    return drawn(func, plan, failed.args, failed.kwargs, call) if plan.random else func(*failed.args, **failed.kwargs)


def _nothing(dtype):
    return float("nan") if dtype.is_floating_point or dtype.is_complex else 0
