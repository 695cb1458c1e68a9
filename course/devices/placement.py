"""Placement: say where ops run, block by block, function by function, or op by op."""

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._compile import _disable_dynamo
from torch.overrides import TorchFunctionMode

from course.devices import moves
from course.devices.device_list import Device
from course.devices.fallback import missing_kernel, resolve, run_on_cpu
from course.devices.moves import noted
from course.devices.names import DeviceName, name_of
from course.devices.rules import CallPlan, Rule, plan_for, target


@dataclass(frozen=True, repr=False)
class Op:
    """The argument of a device function: the op's `name` as you wrote it (`matmul`) and its tensor `inputs`."""

    name: str
    inputs: tuple[torch.Tensor, ...]

    def __repr__(self):
        return f"Op({self.name!r}, inputs of shape {', '.join(str(tuple(t.shape)) for t in self.inputs) or 'none'})"


def place(device: "str | DeviceName | Device | torch.device | Callable[[Op], Any]", soft: bool = False) -> "Placement":
    """Return a `Placement`: ops inside `with place("/gpu:0"):`, or inside a function decorated with it, run there.

    `device` is a name (`/gpu:0`, `cuda:0`), a `DeviceName`, a `Device`, a `torch.device`, or a function that takes an
    `Op` and returns one of these, or None to leave the op where its inputs are. Inner placements win. Inputs that lie
    elsewhere are moved through torch's differentiable `.to`, so that each gradient comes back to its leaf's own device;
    the moves are counted in `.moves` and `.bytes_moved`, and a `log_placement` shows each one.

    Not moved: views and attribute getters (they compute nothing), ops that write to a tensor (`add_`, `x[0] = 1`,
    `out=` run where it lies), and calls that say `device=` or `.to(…)` themselves. Backward ops run where their
    forward ops did.

    A device that this machine lacks is a ValueError at once, an op that the device lacks a NotImplementedError that
    names both. With `soft=True` both run on the CPU, and the log says so; what an op without a kernel makes or writes
    returns to the device, a counted move like any other.

    The thread rule: a placement holds in the thread that enters it, and in the backward passes started there. A thread
    started inside is not placed until it enters the same placement itself; `moves` counts for all of them. It may be
    entered again and nested. Modules, `torch.func` (`vmap`, `grad`) and optimisers are placed op by op. So is a
    function from `torch.compile`: under a placement it runs uncompiled.

    >>> import torch
    >>> with place("/cpu:0"):
    ...     place_of_sum = (torch.ones(2) + 1).device
    >>> place_of_sum
    device(type='cpu')
    """
    return Placement(device, soft)


class _Entered(threading.local):
    placements: "tuple[Placement, ...]" = ()
    innermost: "Placement | None" = None


_ENTERED = _Entered()
_STAYS, _MOVES = Rule.STAYS, Rule.MOVES  # looked up once: an attribute of an Enum costs as much as an op's whole check
_TELLING = {"device", "out", "inplace", "training", "use_input_stats"}  # arguments that say where, or what is written
_NOTHING: dict[str, Any] = {}
_is_traced = torch.compiler.is_dynamo_compiling  # False when it runs, True in what the compiler makes of it
_PLANS: dict[Callable, CallPlan] = {}  # function of torch -> CallPlan; some hundred at most: torch's own functions


class Placement(TorchFunctionMode):
    """Ops run on `device`; made by `place`. `moves` and `bytes_moved` count the inputs moved so far, by all threads."""

    def __init__(self, device: Any, soft: bool = False):
        super().__init__()
        self.device = device
        self.soft = soft
        self.moves = 0
        self.bytes_moved = 0
        self._counting = threading.Lock()
        self._resolved = functools.cache(functools.partial(resolve, soft=soft))
        self._fixed: torch.device | None
        self._fixed, self._note = (None, "") if callable(device) else self._resolved(device)
        self._quick = self._fixed is not None and not self._note

    def __enter__(self):
        _hide_from_compiler()
        super().__enter__()
        _ENTERED.placements = (*_ENTERED.placements, self)
        _ENTERED.innermost = self
        return self

    def __exit__(self, *error):
        _ENTERED.placements = outer = _ENTERED.placements[:-1]
        _ENTERED.innermost = outer[-1] if outer else None
        return super().__exit__(*error)

    def __call__(self, function):
        """Decorate `function`: its body runs placed. Not for generators, whose bodies run after the call."""
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError(
                f"place(…)({function.__name__}): a generator's or coroutine's body runs after the call has returned. "
                "Use `with place(…):` inside it."
            )

        @functools.wraps(function)
        def placed(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return placed

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if _is_traced():
            return _uncompiled(self, func, types, args, kwargs)
        plan = _PLANS.get(func)
        if plan is None:
            plan = _PLANS[func] = plan_for(func)
        # An outer placement sees the ops of an inner one too, after it: they are placed already.
        if plan.rule is _STAYS or _ENTERED.innermost is not self:
            return func(*args, **kwargs) if kwargs else func(*args)
        # The common case in short: an op whose inputs are here already.
        kwargs = kwargs or _NOTHING
        if (
            self._quick
            and plan.rule is _MOVES
            and moves.all_on(self._fixed, args)
            and (not kwargs or (_TELLING.isdisjoint(kwargs) and moves.all_on(self._fixed, kwargs.values())))
        ):
            try:
                return func(*args, **kwargs)
            except NotImplementedError as error:
                return self._without_kernel(error, plan, func, args, kwargs, self._fixed)
        return self._place(plan, func, args, kwargs)

    def _place(self, plan, func, args, kwargs):
        device, note = self._choose(plan, args, kwargs)
        if device is None:
            return func(*args, **kwargs)
        inputs, keywords = args, kwargs
        if plan.rule is Rule.MAKES:
            keywords = {**kwargs, "device": device}
        elif not (moves.all_on(device, args) and moves.all_on(device, kwargs.values())):
            inputs, keywords, moved = moves.bring(args, kwargs, device, plan.name)
            self._count(moved)
        try:
            if not note:
                return func(*inputs, **keywords)
            with noted(note):
                return func(*inputs, **keywords)
        except NotImplementedError as error:
            return self._without_kernel(error, plan, func, args, kwargs, device)

    def _choose(self, plan, args, kwargs):
        """Return the device that the call runs on and a note for the log; None when it stays where it is."""
        if kwargs.get("device") is not None:
            return None, ""
        if plan.rule is Rule.INDEXES and not moves.tensors_in(args[1:]):
            return None, ""
        if plan.rule is Rule.FOLLOWS or not _TELLING.isdisjoint(kwargs):
            written = moves.tensors_in(target(plan, args, kwargs))
            if written:
                return written[0].device, ""
        if self._fixed is not None:
            return self._fixed, self._note
        inputs = moves.tensors_in(args) + moves.tensors_in(kwargs)
        chosen = self.device(Op(plan.name, tuple(inputs)))
        return (None, "") if chosen is None else self._resolved(chosen)

    def _without_kernel(self, error, plan, func, args, kwargs, device):
        """Run on the CPU the op that `device` has no kernel for, when soft; otherwise say so."""
        if device.type == "cpu" or not missing_kernel(error):
            raise error
        if self.soft:
            return run_on_cpu(plan, func, args, kwargs, device, self._count)
        raise NotImplementedError(
            f"place(device={name_of(device)!r}): the op {plan.name!r} has no kernel there.\n"
            f"Run it under place('/cpu:0'), or pass soft=True to run such ops on the CPU."
        ) from error

    def _count(self, moved):
        if moved:
            with self._counting:
                self.moves += len(moved)
                self.bytes_moved += sum(original.numel() * original.element_size() for original, _ in moved)

    def __repr__(self):
        device = self.device if callable(self.device) else str(DeviceName.parse(self.device))
        shown = getattr(device, "__name__", repr(device))
        return f"place({shown}{', soft=True' if self.soft else ''})"


def _hide_from_compiler():
    """Have `torch.compile` leave placed code alone: it would trace the placement into the program, and wrongly.

    Done once its compiler is loaded, which takes a second: a program that compiles nothing doesn't wait for it.
    """
    if "torch._dynamo" in sys.modules and not hasattr(Placement.__torch_function__, "_torchdynamo_disable"):
        reason = "under place(…) ops run uncompiled; leave out fullgraph=True, or place"
        Placement.__torch_function__ = torch.compiler.disable(Placement.__torch_function__, reason=reason)


@_disable_dynamo
def _uncompiled(placement, func, types, args, kwargs):
    """Place a call that the compiler, loaded after the placement was entered, is tracing; and all calls after it."""
    _hide_from_compiler()
    return placement.__torch_function__(func, types, args, kwargs)
