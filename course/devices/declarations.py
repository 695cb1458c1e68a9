"""An op's traits by torch's own declaration: its name, whether it is a view, what it reads and what it writes."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from torch._C import FunctionSchema
from torch._ops import OpOverload

from simgpu.ops.declarations import makes_views, waits_for_values


@dataclass(frozen=True)
class Traits:
    """An op's `name`; whether it is a `view`, `reads_inputs`, `reads_to_python` (a number), or `waits` for its result.

    `marks`: it computes nothing, and is there for a profiler.
    """

    name: str
    view: bool
    reads_inputs: bool
    reads_to_python: bool
    waits: bool = False
    marks: bool = False


@cache
def traits_of(func: Any) -> Traits:
    """Return the `Traits` of an op as torch dispatches it (an `OpOverload`, or a higher-order operator)."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return Traits(str(func), view=False, reads_inputs=True, reads_to_python=False)
    space, _, name = schema.name.partition("::")
    return Traits(
        name=name if space == "aten" else schema.name,  # a custom op keeps its namespace: course::life_step
        view=makes_views(schema),
        reads_inputs=not takes_shape_only(name),
        reads_to_python=name == "_local_scalar_dense",
        waits=isinstance(func, OpOverload) and waits_for_values(func),
        marks=space == "profiler",
    )


def takes_shape_only(name: str) -> bool:
    """Return whether the op `name` makes a tensor shaped like its input without reading it, as `zeros_like` does."""
    return name.endswith("_like") or name.startswith("new_")


def written(schema: FunctionSchema) -> tuple[int, str] | None:
    """Return position and name of the first argument that the op writes to, or None."""
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            return position, argument.name
    return None
