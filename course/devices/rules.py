"""The rule by which a function of torch is placed: it moves, follows its target, gets `device=`, or stays."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import torch

from course.devices import declarations
from simgpu.ops.declarations import makes_views

#: Functions that compare two tensors and answer in Python; the other functions that make no tensor only look at one.
_COMPARISONS = {"equal", "allclose"}
#: Python operators; `__radd__` and `__iadd__` are the same op. Every other `__name__` asks or prints and stays.
_OPERATORS = {
    *("add", "sub", "mul", "matmul", "div", "truediv", "floordiv", "mod", "pow", "neg", "abs"),
    *("and", "or", "xor", "invert", "lshift", "rshift", "lt", "le", "gt", "ge", "eq", "ne"),
}
#: Make a tensor from Python's numbers, and have no declaration that says so.
_MAKERS = {"tensor", "as_tensor", "asarray", "new_tensor"}
#: Write their running statistics when they train, and have no declaration that says so: the argument that is written.
_TRAINED = {"batch_norm": "training", "instance_norm": "use_input_stats"}


class Rule(Enum):
    """The ways in which placement treats a function's tensors."""

    MOVES = auto()  # inputs go to the device, the op runs there
    FOLLOWS = auto()  # the op writes to a tensor: it runs where that tensor is
    MAKES = auto()  # a new tensor: the function gets `device=`
    INDEXES = auto()  # x[i]: a view with numbers, an op with a tensor of indices
    STAYS = auto()  # views, attribute getters, `.to`, questions: they run where their tensor is


@dataclass(frozen=True)
class CallPlan:
    """A function's `rule`, the op's `name`, and for an op by declaration the argument it writes: (position, name)."""

    rule: Rule
    name: str
    written: tuple[int, str] | None = None


def plan_for(func: Callable) -> CallPlan:
    """Return the `CallPlan` of a function as `__torch_function__` gets it."""
    name = getattr(func, "__name__", str(func))
    if isinstance(func, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return _declared(func)
    if name.startswith("__") and name.endswith("__"):
        return _dunder(name.strip("_"))
    if (getattr(func, "__module__", None) or "").startswith("torch.autograd"):
        return CallPlan(Rule.STAYS, name)
    return CallPlan(_by_name(name), name)


def target(plan: CallPlan, args: tuple, kwargs: dict) -> Any:
    """Return the tensor that the call writes to, or None: the first argument of `add_`, `out=`, `inplace=True`."""
    if kwargs.get("out") is not None:
        return kwargs["out"]
    if plan.written is not None:
        position, name = plan.written
        return args[position] if position < len(args) else kwargs.get(name)
    if plan.name in _TRAINED and kwargs.get(_TRAINED[plan.name]):
        return args[1] if len(args) > 1 else kwargs.get("running_mean")
    if plan.rule is Rule.FOLLOWS or kwargs.get("inplace"):
        # torch.nn.init passes its tensor by name
        return args[0] if args else next(iter(kwargs.values()), None)
    return None


def _declared(func):
    overload = func if isinstance(func, torch._ops.OpOverload) else getattr(func, func.overloads()[0])
    name = declarations.traits_of(overload).name
    written = declarations.written(overload._schema)
    if written is not None:
        return CallPlan(Rule.FOLLOWS, name, written)
    return CallPlan(_by_schemas(name, [overload._schema]), name)


def _dunder(name):
    if name == "getitem":
        return CallPlan(Rule.INDEXES, name)
    if name == "setitem" or (name[0] == "i" and name[1:] in _OPERATORS):
        return CallPlan(Rule.FOLLOWS, name)
    if name in _OPERATORS or (name[0] == "r" and name[1:] in _OPERATORS):
        return CallPlan(Rule.MOVES, name)
    return CallPlan(Rule.STAYS, name)


def _by_name(name):
    if name in _MAKERS or declarations.takes_shape_only(name):
        return Rule.MAKES
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        # Composites written in Python (cross_entropy, unique) are ops; other methods of Tensor ask or convert (numpy).
        return Rule.STAYS if hasattr(torch.Tensor, name) and name not in ("unique", "lu") else Rule.MOVES
    if name.endswith("_"):
        return Rule.FOLLOWS
    every = [getattr(packet, overload)._schema for overload in packet.overloads()]
    return _by_schemas(name, [schema for schema in every if not schema.is_mutable] or every)


def _by_schemas(name, every):
    on_tensors = [schema for schema in every if any("Tensor" in str(a.type) for a in schema.arguments)]
    if not on_tensors:
        takes_device = any(argument.name == "device" for schema in every for argument in schema.arguments)
        return Rule.MAKES if takes_device else Rule.MOVES
    if any(map(makes_views, on_tensors)):
        return Rule.STAYS
    if not any("Tensor" in str(result.type) for schema in on_tensors for result in schema.returns):
        return Rule.MOVES if name in _COMPARISONS else Rule.STAYS
    return Rule.MOVES
