"""From a module to a folder that can be served: `torch.export` with any number of rows, and what belongs beside it."""

import errno
import inspect
import io
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch

from modelserver.versions.publish import model_folder, prune, publish, written_aside
from modelserver.versions.signature import DATATYPES, Signature, TensorSpec
from modelserver.versions.version import ABOUT, EXAMPLES, LABELLED, PROGRAM, Version, read_version

#: A batch of 1 makes torch.export take the 1 for a constant; 2 is the smallest that keeps the axis.
_TRACED_ROWS = 2
#: Rows of the examples whose answers are recorded: one alone, and the other five together.
_EXAMPLE_ROWS = 6
_OF_TORCH = {str(torch.from_numpy(numpy.zeros(1, dtype)).dtype): name for name, dtype in DATATYPES.items()}


def export(
    module: torch.nn.Module,
    example: torch.Tensor | Sequence[torch.Tensor] | Mapping[str, torch.Tensor],
    directory: str | os.PathLike,
    *,
    name: str,
    outputs: Sequence[str] = (),
    labels: Sequence[str] = (),
    scaling: Mapping[str, str] | None = None,
    labelled: tuple[torch.Tensor, torch.Tensor] | None = None,
    record: Mapping[str, Any] | None = None,
    keep: int = 5,
) -> Version:
    """Write `module` as the next version of the model `name` in `directory`, and return that `Version`.

    `example`: what `forward` takes, on the CPU: a tensor `(rows, …)`, several in order, or by name. Only shapes, dtypes
    and the range of values are taken from it: what is stored is drawn anew within that range, so none of your data is
    in the file. Tensors are named as `forward`'s arguments; `outputs` names the results ("output", or "output_0", …,
    or a dict's keys, by default). Every output has a row for each row of the inputs. `labels`: names of the
    first output's places. `scaling`: {input: in words, what was done to raw data}. `labelled`: (inputs `(n, …)`, int
    labels `(n,)`) by which a server compares the next version's accuracy with this one's. `record`: how it was trained,
    values that JSON has. `keep`: how many versions stay, the newest; one that is served or held at stays too.

    The module is traced in `eval()` by `torch.export` with any number of rows, and is left as it was. The folder is
    written aside and renamed: it is there whole, or not at all. Loading an exported program runs code that is in it:
    serve only what you or people you trust have exported. Raises ValueError, naming the argument, for a module that
    can't be exported so; OSError when it can't be written.
    """
    inputs = _by_argument(module, example)
    if keep < 1:
        raise ValueError(f"export(keep={keep}): give the number of versions that stay, 1 or more.")
    was = {part: part.training for part in module.modules()}
    module.eval()
    try:
        program, examples = _traced(module, inputs), _drawn(inputs, _EXAMPLE_ROWS)
        signature, answers = _answered(program, examples, tuple(outputs), dict(scaling or {}))
    finally:
        for part, training in was.items():
            part.training = training
    about = {"signature": signature.as_json(), "labels": _labels(labels, signature), "torch": torch.__version__}
    about["record"] = _record(record)
    folder = model_folder(directory, name)
    try:
        with written_aside(folder) as aside:
            (aside / PROGRAM).write_bytes(_saved(program))
            (aside / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
            arrays = {f"in.{key}": value.numpy() for key, value in examples.items()}
            numpy.savez(aside / EXAMPLES, **arrays, **{f"out.{key}": value for key, value in answers.items()})
            if labelled is not None:
                numpy.savez(aside / LABELLED, **_labelled(labelled, signature))
            version = publish(aside)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.strerror = f"{error.strerror}: no version of {name} was written. Free some space, then export again"
        raise
    prune(folder, keep)
    return read_version(version)


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


def _saved(program):
    """Return the bytes of an exported program: torch's own writer ends the process where a disk fills up."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getbuffer()


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
    sides = [tuple(_spec(key, value, scaling.pop(key, "")) for key, value in t.items()) for t in (examples, together)]
    if scaling:
        raise ValueError(f"export(scaling={scaling}): the inputs are {', '.join(examples)}.")
    return Signature(*sides), {key: value.numpy() for key, value in together.items()}


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


def _labels(labels, signature):
    places = signature.outputs[0].shape[-1:] or (0,)
    if labels and len(labels) != places[0]:
        raise ValueError(f"export(labels=…): {len(labels)} labels for {places[0]} places of the first output.")
    return list(map(str, labels))


def _record(record):
    try:
        return json.loads(json.dumps(dict(record or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"export(record=…): {error}; give numbers, texts, lists and dicts, as JSON has them."
        ) from None


def _labelled(pair, signature):
    inputs, labels = (part.numpy() for part in pair)
    spec = signature.inputs[0]
    fits = len(signature.inputs) == 1 and inputs.shape[1:] == spec.shape and inputs.dtype == spec.dtype
    if not fits or labels.shape != inputs.shape[:1] or labels.dtype.kind not in "iu" or not len(labels):
        raise ValueError(
            f"export(labelled=…): inputs {inputs.dtype}{inputs.shape}, labels {labels.dtype}{labels.shape}; give "
            f"{spec.dtype}(n, {', '.join(map(str, spec.shape))}) and whole numbers (n,), n ≥ 1; a model of one input."
        )
    return {"inputs": inputs, "labels": labels}
