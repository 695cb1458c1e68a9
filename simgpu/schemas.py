"""What torch's own declaration of an op says: its name, whether it is a view, whether it reads its inputs' numbers."""

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Traits:
    """An op's `name`, and three facts: it is a `view`, it `reads_inputs`, it `reads_to_python` (a number for
    Python)."""

    name: str
    view: bool
    reads_inputs: bool
    reads_to_python: bool


@cache
def traits_of(func):
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
    )


def makes_views(schema):
    """Return whether every result shares memory with an input and the op writes to none: `t`, `view`, `split`."""
    return bool(schema.returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)


def takes_shape_only(name):
    """Return whether the op `name` makes a tensor shaped like its input without reading it: `zeros_like`,
    `new_empty`."""
    return name.endswith("_like") or name.startswith("new_")


def makes_tensors(schema):
    """Return whether a tensor, or a list of tensors, is among the results."""
    return any("Tensor" in str(r.type) for r in schema.returns)


def tensor_inputs(schema):
    """Return how many arguments are tensors or lists of tensors."""
    return sum("Tensor" in str(a.type) for a in schema.arguments)


def takes_device(schema):
    """Return whether the op has a `device` argument."""
    return any(a.name == "device" for a in schema.arguments)


def written(schema):
    """Return position and name of the first argument that the op writes to, or None."""
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            return position, argument.name
    return None
