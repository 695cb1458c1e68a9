"""How an op runs on a simulated device, by torch's own declaration of it; read once for each op."""

from dataclasses import dataclass
from functools import cache

import torch
from torch._C import FunctionSchema
from torch._ops import OpOverload

from simgpu.context.asserts import ASSERTING
from simgpu.kernels.names import CHECKED, ITERATED

#: Results that lie in an input's memory although the declaration does not say so.
_SHARING = {"aten::_unsafe_view", "aten::_reshape_alias", "aten::lift_fresh", "aten::lift"}
#: Indices may lie on the CPU while what they index is on a GPU.
INDEXING = {"index", "index_put_", "index_put", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"}
#: Take a 0-dim CPU tensor beside tensors of a GPU, as CUDA does, without being declared pointwise.
_SCALARS = {"where", "masked_fill_", "masked_fill", "fill_", "fill", "index_fill_", "index_fill", "copy_", "lerp_"}
#: Take lengths, which CUDA wants on the CPU.
_LENGTHS = {*"_pack_padded_sequence _pack_padded_sequence_backward _ctc_loss _ctc_loss_backward tensor_split".split()}
#: Run in ways of their own.
_PARTICULAR = {"_to_copy", "copy_", "set_", "_local_scalar_dense", "_pack_padded_sequence"}


@dataclass(frozen=True, slots=True, eq=False)
class OpPlan:
    """How an op runs: `name` as torch calls it; `view`: it computes nothing; `sharing`: its results lie in an input.

    `returned`: for each result, the argument (position, name) that it is, or None for a new tensor; None when all are
    new. `random`: it draws numbers; `seeded`: it takes a `generator`. `waits`: the host waits for a value of it.
    `scalars`, `indices`, `lengths`: 0-dim tensors, indices, int64 lengths may lie on the CPU. `reshapes`: it may change
    the shape of what it writes.
    `outside`: it is not one of torch's own ops. `device`: it takes a `device`. `asserts`: its kernel on CUDA does.
    `in_place`: it writes to its first argument, returns that, and leaves its shape. `simple`: it reads numbers of one
    device and makes new ones, or a view, or is `in_place`, and nothing else.
    """

    name: str
    view: bool
    sharing: bool
    returned: tuple | None
    random: bool
    seeded: bool
    waits: bool
    scalars: bool
    lengths: bool
    indices: bool
    reshapes: bool
    outside: bool
    device: bool
    asserts: bool
    in_place: bool
    simple: bool


@cache
def plan_of(func: OpOverload) -> OpPlan:
    """Return the `OpPlan` of an `OpOverload`."""
    schema, tags = func._schema, func.tags
    space, _, name = schema.name.partition("::")
    arguments = {argument.name for argument in schema.arguments}
    view = makes_views(schema)
    random = torch.Tag.nondeterministic_seeded in tags
    outside = space not in ("aten", "prims")
    returned = _returned(schema) if schema.is_mutable else None
    reshapes = schema.is_mutable and (torch.Tag.inplace_view in tags or name == "resize_" or _into_out(schema))
    in_place = returned == ((0, "self"),) and not reshapes and name.endswith("_")
    return OpPlan(
        name=name if space == "aten" else schema.name,
        view=view or torch.Tag.inplace_view in tags,
        sharing=view or schema.name in _SHARING,
        returned=returned,
        random=random,
        seeded="generator" in arguments,
        waits=waits_for_values(func),
        scalars=_takes_scalars(name, tags),
        lengths=name in _LENGTHS,
        indices=name in INDEXING,
        reshapes=reshapes,
        outside=outside,
        device="device" in arguments,
        asserts=name in ASSERTING,
        in_place=in_place,
        simple=not (
            schema.is_mutable and not in_place or random or waits_for_values(func) or outside or name in _PARTICULAR
        ),
    )


def _takes_scalars(name, tags):
    if name in _SCALARS or name.startswith("_foreach_"):
        return True
    name = name.removesuffix("_")
    return torch.Tag.pointwise in tags and name not in CHECKED or name in ITERATED


def _returned(schema):
    """Return, for each result, (position, name) of the argument that is written and returned, or None."""
    written = {}
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            for alias in argument.alias_info.before_set:
                written[alias] = (position, argument.name)
    return tuple(
        next((written[a] for a in result.alias_info.before_set if a in written), None) if result.alias_info else None
        for result in schema.returns
    )


def _into_out(schema):
    """Return whether an op writes to tensors given by keyword: `out`, or `values` and `indices`."""
    return any(
        argument.kwarg_only and argument.alias_info is not None and argument.alias_info.is_write
        for argument in schema.arguments
    )


def waits_for_values(func: OpOverload) -> bool:
    """Return whether the host waits for a value, or for a size that depends on values: for an index only with masks."""
    return torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags


def makes_views(schema: FunctionSchema) -> bool:
    """Return whether every result shares memory with an input and the op writes to none: `t`, `view`, `split`."""
    return bool(schema.returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
