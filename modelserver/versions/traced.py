"""One module, or a module's method, traced by `torch.export`: a program, what goes in and out, and examples."""

import inspect
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from modelserver.versions.signature import DATATYPES, Signature, TensorSpec

#: A batch of 1 makes torch.export take the 1 for a constant; 2 is the smallest that keeps the axis.
_TRACED_ROWS = 2
#: Rows of the examples whose answers are recorded: one alone, and the other five together.
_EXAMPLE_ROWS = 6
_OF_TORCH = {str(torch.from_numpy(numpy.zeros(1, dtype)).dtype): name for name, dtype in DATATYPES.items()}
Example = torch.Tensor | Sequence[torch.Tensor] | Mapping[str, torch.Tensor]


@dataclass
class Traced:
    """One signature: its program, and the arrays of its examples and their answers, by "in." or "out." and name."""

    program: torch.export.ExportedProgram
    signature: Signature
    examples: dict[str, numpy.ndarray]

    def saved(self) -> memoryview:
        """Return the bytes of the program: torch's own writer ends the process where a disk fills up."""
        buffer = io.BytesIO()
        torch.export.save(self.program, buffer)
        return buffer.getbuffer()


def traced(
    module: Callable[..., Any], example: Example, outputs: tuple[str, ...], scaling: Mapping[str, str]
) -> Traced:
    """Return what `torch.export` makes of a module, or of a module's method, in `eval()` and for any number of rows.

    `example`, `outputs` and `scaling` are those of `export`. The module is left as it was. Raises ValueError, naming
    the argument, for one that can't be served.
    """
    whole = _as_module(module)
    inputs = _by_argument(whole, example)
    was = {part: part.training for part in whole.modules()}
    whole.eval()
    try:
        program, examples = _traced(whole, inputs), _drawn(inputs, _EXAMPLE_ROWS)
        signature, answers = _answered(program, examples, outputs, scaling)
    finally:
        for part, training in was.items():
            part.training = training
    arrays = {f"in.{key}": value.numpy() for key, value in examples.items()}
    return Traced(program, signature, {**arrays, **{f"out.{key}": value for key, value in answers.items()}})


class _Method(torch.nn.Module):
    """A method of a module as a module of its own, with that one's parameters."""

    def __init__(self, method):
        super().__init__()
        self.owner, self.forward = method.__self__, method


def _as_module(module):
    if isinstance(module, torch.nn.Module):
        return module
    if isinstance(getattr(module, "__self__", None), torch.nn.Module):
        return _Method(module)
    if not isinstance(module, type) and callable(getattr(module, "module", None)):
        return module.module()
    raise ValueError(
        f"export({repr(module):.80}): give a torch.nn.Module, one of its methods, or what has a module() that returns "
        "one, as the result of a training."
    )


def _by_argument(module, example):
    """Return {argument of forward: tensor} of an `example` in any of its three forms."""
    parameters = [p for p in inspect.signature(module.forward).parameters.values() if p.kind != p.VAR_KEYWORD]
    names = [p.name for p in parameters if p.kind != p.VAR_POSITIONAL]
    if isinstance(example, torch.Tensor):
        example = (example,)
    if not isinstance(example, Mapping):
        if len(example) > len(names) and len(names) < len(parameters):  # forward(*inputs)
            names = [f"input_{at}" for at in range(len(example))]
        if len(example) > len(names):
            raise ValueError(f"export(example=…): {len(example)} tensors, and forward takes {', '.join(names)}.")
        example = dict(zip(names, example, strict=False))
    rows = {len(tensor) if isinstance(tensor, torch.Tensor) and tensor.ndim else None for tensor in example.values()}
    if len(rows) != 1 or not rows - {None, 0}:
        shapes = {key: tuple(getattr(tensor, "shape", ())) or type(tensor) for key, tensor in example.items()}
        raise ValueError(f"export(example=…): {shapes}; give tensors of shape (rows, …), all with as many rows, ≥ 1.")
    for key, tensor in example.items():
        if str(tensor.dtype) not in _OF_TORCH or tensor.device.type != "cpu":
            raise ValueError(
                f"export(example=…): {key} is {tensor.dtype} on {tensor.device}; a model is exported on the CPU, and "
                f"the protocol has {', '.join(sorted(_OF_TORCH))}. Convert it, and the module: module.cpu(), x.float()."
            )
    return dict(example)


def _drawn(inputs, rows):
    """Return tensors like `inputs`, of `rows` rows, drawn between their smallest and largest value; the same always."""
    generator = torch.Generator().manual_seed(0)

    def drawn(tensor):
        shape = (rows, *tensor.shape[1:])
        if tensor.numel() == 0:
            return torch.zeros(shape, dtype=tensor.dtype)
        low, high = tensor.min().item(), tensor.max().item()
        if tensor.dtype == torch.bool:
            return torch.rand(shape, generator=generator) < 0.5
        if tensor.dtype.is_floating_point:
            return (low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)).to(tensor.dtype)
        return torch.randint(low, high + 1, shape, generator=generator, dtype=tensor.dtype)

    return {key: drawn(tensor) for key, tensor in inputs.items()}


def _traced(module, inputs):
    """Return the `ExportedProgram` of `module`, for any number of rows."""
    rows = torch.export.Dim("rows")
    traced, dynamic = _drawn(inputs, _TRACED_ROWS), {key: {0: rows} for key in inputs}
    devices = {str(t.device) for t in (*module.parameters(), *module.buffers())} - {"cpu"}
    if devices:
        raise ValueError(f"export(module): its tensors are on {devices}; export module.cpu(). The server moves it.")
    names = [p.name for p in inspect.signature(module.forward).parameters.values()]
    by_name = set(inputs) <= set(names)
    try:
        with torch.no_grad():
            if by_name:
                return torch.export.export(module, (), traced, dynamic_shapes=dynamic)
            values = tuple(traced.values())
            return torch.export.export(module, values, dynamic_shapes=(tuple(dynamic.values()),))
    except Exception as error:  # torch.export raises fifty kinds
        raise ValueError(
            f"export({type(module).__name__}): torch.export can't trace it for any number of rows: "
            f"{str(error).strip()[:600]}\nforward() must not look at values or at the number of rows: use torch's ops, "
            "x.flatten(1) rather than x.view(32, -1)."
        ) from error


def _answered(program, examples, names, scaling):
    """Return the `Signature` that `examples` show, and {output: its numpy array}; a row alone must answer the same."""
    run = program.module()
    with torch.no_grad():
        together = _by_name(run(**examples) if _takes_names(program) else run(*examples.values()), names)
        alone = {key: value[:1] for key, value in examples.items()}
        single = _by_name(run(**alone) if _takes_names(program) else run(*alone.values()), names)
    for key, value in together.items():
        if value.ndim == 0 or len(value) != _EXAMPLE_ROWS or len(single[key]) != 1:
            shape = tuple(value.shape)
            raise ValueError(
                f"export(): for {_EXAMPLE_ROWS} rows the output {key} has the shape {shape}; give a module whose "
                "outputs have a row for each row of the inputs: requests of several callers share a batch."
            )
        if not torch.allclose(value[:1].double(), single[key].double(), rtol=1e-3, atol=1e-4, equal_nan=True):
            raise ValueError(
                f"export(): the output {key} of a row depends on the rows beside it, and requests of several callers "
                "share a batch. Is something normalised over the batch in eval() as well?"
            )
    ins = tuple(_spec(key, value, scaling.get(key, "")) for key, value in examples.items())
    outs = tuple(_spec(key, value, "") for key, value in together.items())
    return Signature(ins, outs), {key: value.numpy() for key, value in together.items()}


def _takes_names(program):
    return bool(program.call_spec.in_spec is not None and program.example_inputs[1])


def _by_name(result, names):
    if isinstance(result, Mapping):
        return dict(result)
    results = (result,) if isinstance(result, torch.Tensor) else tuple(result)
    default = ("output",) if len(results) == 1 else tuple(f"output_{at}" for at in range(len(results)))
    if names and len(set(names)) != len(results):
        raise ValueError(f"export(outputs={list(names)}): forward returns {len(results)}; give each a name of its own.")
    return dict(zip(names or default, results, strict=True))


def _spec(key, tensor, scaling):
    if not isinstance(tensor, torch.Tensor) or str(tensor.dtype) not in _OF_TORCH:
        kind = getattr(tensor, "dtype", type(tensor))
        raise ValueError(f"export(): {key} is {kind}; the protocol has {', '.join(sorted(_OF_TORCH))}.")
    return TensorSpec(key, _OF_TORCH[str(tensor.dtype)], tuple(tensor.shape[1:]), scaling)
