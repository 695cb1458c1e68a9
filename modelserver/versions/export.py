"""From a module to a folder that can be served: `torch.export` with any number of rows, and what belongs beside it."""

import errno
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy
import torch

from modelserver.bucket import BucketPath, is_address
from modelserver.versions.bucket_models import uploaded
from modelserver.versions.publish import model_folder, prune, publish, written_aside
from modelserver.versions.traced import Example, traced
from modelserver.versions.version import (
    ABOUT,
    DEFAULT_SIGNATURE,
    LABELLED,
    Version,
    examples_file,
    program_file,
    read_version,
)


class HasModule(Protocol):
    """What `export` takes beside a module: the result of a training, whose `module()` is the trained network."""

    def module(self) -> torch.nn.Module:
        """Return the network."""


def export(
    module: torch.nn.Module | HasModule,
    example: Example,
    directory: str | os.PathLike,
    *,
    name: str,
    outputs: Sequence[str] = (),
    signatures: Mapping[str, tuple[Callable[..., Any], Example]] | None = None,
    labels: Sequence[str] = (),
    scaling: Mapping[str, str] | None = None,
    labelled: tuple[torch.Tensor, torch.Tensor] | None = None,
    record: Mapping[str, Any] | None = None,
    keep: int = 5,
) -> Version:
    """Write `module` as the next version of the model `name` in `directory`, or at that address; return the `Version`.

    `module`: a module, or what has one by its `module()`, as the result of the course's `train` has. `example`: what
    `forward` takes, on the CPU: a tensor `(rows, …)`, several in order, or by name. Only shapes, dtypes
    and the range of values are taken from it: what is stored is drawn anew within that range, so none of your data is
    in the file. Tensors are named as `forward`'s arguments; `outputs` names the results ("output", or "output_0", …,
    or a dict's keys, by default). Every output has a row for each row of the inputs. `signatures`: more ways to ask
    the same version, {name: (another module, or a module's method, and its example)}; `outputs` names their results
    too. `forward` is the signature "serving_default", which answers where a request names none. `labels`: names of the
    first output's places. `scaling`: {input: in words, what was done to raw data}. `labelled`: (inputs `(n, …)`, int
    labels `(n,)`) by which a server compares the next version's accuracy with this one's. `record`: how it was trained,
    values that JSON has. `keep`: how many versions stay, the newest; one that is served or held at stays too.

    Each module is traced in `eval()` by `torch.export` with any number of rows, and is left as it was. The folder is
    written aside and renamed: it is there whole, or not at all; at a store's address (`s3://bucket/models`) the list of
    its checksums comes last. Loading an exported program runs code that is in it:
    serve only what you or people you trust have exported. Raises ValueError, naming the argument, for a module that
    can't be exported so; OSError when it can't be written.
    """
    if keep < 1:
        raise ValueError(f"export(keep={keep}): give the number of versions that stay, 1 or more.")
    modules: dict[str, tuple[Any, Example]] = {DEFAULT_SIGNATURE: (module, example), **_checked_names(signatures or {})}
    parts = {key: traced(way, rows, tuple(outputs), scaling or {}) for key, (way, rows) in modules.items()}
    signature = parts[DEFAULT_SIGNATURE].signature
    inputs = {spec.name for part in parts.values() for spec in part.signature.inputs}
    if unknown := set(scaling or {}) - inputs:
        raise ValueError(f"export(scaling={unknown}): the inputs are {', '.join(sorted(inputs))}.")
    about = {"signature": signature.as_json(), "labels": _labels(labels, signature), "torch": torch.__version__}
    about["signatures"] = {key: part.signature.as_json() for key, part in parts.items() if key != DEFAULT_SIGNATURE}
    about["record"] = _record(record)
    arrays = None if labelled is None else _labelled(labelled, signature)
    if not is_address(directory):
        folder = model_folder(directory, name)
        version = _written(folder, parts, about, arrays)
        prune(folder, keep)
        return read_version(version)
    with tempfile.TemporaryDirectory(prefix="export-") as here:
        written = read_version(_written(model_folder(here, name), parts, about, arrays))
        target: Any = uploaded(written.folder, BucketPath(directory) / name, keep)
        return replace(written, number=int(target.name), folder=target)


def _written(folder, parts, about, labelled):
    """Write a version into the model's `folder`; return the version's own."""
    try:
        with written_aside(folder) as aside:
            (aside / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
            for name, part in parts.items():
                (aside / program_file(name)).write_bytes(part.saved())
                numpy.savez(aside / examples_file(name), **part.examples)
            if labelled is not None:
                numpy.savez(aside / LABELLED, **labelled)
            return publish(aside)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.strerror = (
                f"{error.strerror}: no version of {folder.name} was written. Free some space, then export again"
            )
        raise


def _checked_names(signatures):
    for key, pair in signatures.items():
        sound = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", key) and key != DEFAULT_SIGNATURE
        if not sound or not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"export(signatures=…): {key!r:.80}; give {{name: (module or method, example)}}, a name of 1 to 64 "
                f"letters, digits and '_', the first a letter. {DEFAULT_SIGNATURE} is what export() takes first."
            )
    return signatures


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
