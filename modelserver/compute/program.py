"""One version, loaded: it runs batches, and says how its answers compare with those that its export recorded."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch

from modelserver.compute.device import torch_name
from modelserver.versions.checksums import DamagedVersion, verified_files
from modelserver.versions.signature import Signature, split_rows
from modelserver.versions.version import (
    ABOUT,
    DEFAULT_SIGNATURE,
    LABELLED,
    examples_file,
    program_file,
    read_arrays,
    read_version,
)

#: Answers may differ from the recorded ones by this share and this much: another processor adds up in another order.
_SHARE, _AMOUNT = 1e-4, 1e-5
#: Rows of labelled examples that run at a time.
_JUDGED_AT_A_TIME = 64


class Program:
    """An exported program on `device`, ready to run."""

    def __init__(self, data: bytes, signature: Signature, device: str = "cpu"):
        self.signature, self.device = signature, device
        exported = torch.export.load(io.BytesIO(data))
        self._by_name = bool(exported.example_inputs and exported.example_inputs[1])
        self._run: Callable[..., Any] = _on_device(exported, device)

    def run(self, rows: int, data: bytearray) -> list[numpy.ndarray]:
        """Return the outputs for `rows` rows: `data` has all inputs, one after the other, and is not changed."""
        return self.answers(split_rows(self.signature.inputs, rows, data))

    def answers(self, arrays: list[numpy.ndarray]) -> list[numpy.ndarray]:
        """Return the outputs, C-contiguous, for the inputs `arrays`, in the signature's order.

        Raises ValueError when an output isn't of the shape and datatype that the signature has.
        """
        tensors = [torch.from_numpy(array) for array in arrays]
        if self.device != "cpu":
            tensors = [tensor.to(self.device) for tensor in tensors]
        with torch.inference_mode():
            if self._by_name:
                result = self._run(**{s.name: t for s, t in zip(self.signature.inputs, tensors, strict=True)})
            else:
                result = self._run(*tensors)
        return self._checked(result, len(arrays[0]))

    def _checked(self, result, rows):
        if isinstance(result, dict):
            result = [result[spec.name] for spec in self.signature.outputs]
        results = (result,) if isinstance(result, torch.Tensor) else tuple(result)
        arrays = [numpy.ascontiguousarray(tensor.cpu().numpy()) for tensor in results]
        for spec, array in zip(self.signature.outputs, arrays, strict=True):
            if array.shape != (rows, *spec.shape) or array.dtype != spec.dtype:
                raise ValueError(
                    f"the model gave {spec.name} as {array.dtype}{array.shape}, and its signature says "
                    f"{spec.dtype}{(rows, *spec.shape)}"
                )
        return arrays


def load(
    folder: str, device: str, judged_by: str | None, largest: int, name: str = DEFAULT_SIGNATURE
) -> tuple[Program, dict[str, Any]]:
    """Return the version in `folder` as a `Program`, warmed up, and {"difference": …, "accuracy": …, "own": …}.

    `name`: which of its signatures the program is of; labelled examples are for the default one.
    `difference`: "" or how its answers differ from the recorded ones. `accuracy`: on the labelled examples in the
    version's folder `judged_by`, from 0 to 1; `own`: on its own ones; None without. `largest`: rows of the largest
    batch, for the warm-up. `device`: "/gpu:1" or, as torch says, "cuda:1". Raises DamagedVersion and NotYours as
    `read_version` does: it loads the bytes that were compared.
    """
    version = read_version(Path(folder))
    if device != "cpu":
        device = torch_name(device)
    signature = version.signatures[name]
    files = verified_files(version.folder, (program_file(name), examples_file(name)))
    program = Program(files[program_file(name)], signature, device)
    where = f"{folder}/{examples_file(name)}"
    recorded = read_arrays(files[examples_file(name)], where)
    examples = [recorded[f"in.{spec.name}"] for spec in signature.inputs]
    for spec, array in zip(signature.inputs, examples, strict=True):
        if array.shape[1:] != spec.shape or array.dtype != spec.dtype or len(array) < 2:
            raise DamagedVersion(f"{where}: {spec.name} is not as {ABOUT} says; export the model again")
    comparison = {"difference": _difference(program, examples, recorded), "accuracy": None}
    judged = name == DEFAULT_SIGNATURE and version.labelled
    comparison["own"] = _accuracy(program, version.folder) if judged else None
    if judged_by is not None:
        own = Path(judged_by) == version.folder
        comparison["accuracy"] = comparison["own"] if own else _accuracy(program, Path(judged_by))
    many = [numpy.resize(array, (largest, *array.shape[1:])) for array in examples]
    for rows in (1, largest, largest):  # a first run allocates, and chooses its kernels
        program.answers([array[:rows] for array in many])
    return program, comparison


def _on_device(exported, device):
    """Return what calls an exported program on `device`: its weights and the tensors that it makes are moved there."""
    if device == "cpu":
        return exported.module()
    try:
        from torch.export.passes import move_to_device_pass

        return move_to_device_pass(exported, device).module()
    except RuntimeError:  # a simulated GPU has no sizes that are symbols; there the weights alone are moved
        return exported.module().to(device)


def _difference(program, examples, recorded):
    """Return "" when the answers are the recorded ones, for a row alone and for all together; else which is not."""
    rows = len(examples[0])
    parts = [slice(0, 1), slice(1, rows)]
    answers = [program.answers([array[part] for array in examples]) for part in parts]
    for spec, *parts_of_output in zip(program.signature.outputs, *answers, strict=True):
        wanted, array = recorded[f"out.{spec.name}"], numpy.concatenate(parts_of_output)
        if wanted.shape != array.shape:
            return f"{spec.name} has the shape {array.shape}, and at its export had {wanted.shape}"
        close = numpy.isclose(array, wanted, rtol=_SHARE, atol=_AMOUNT, equal_nan=True)
        if not close.all():
            place = tuple(map(int, numpy.argwhere(~close)[0]))
            return f"{spec.name}{list(place)} of its own examples is {array[place]:g}, at its export {wanted[place]:g}"
    return ""


def _accuracy(program, folder):
    """Return the share of the labelled examples in `folder` whose largest score is at the label; None if none fit."""
    labelled = read_arrays(verified_files(folder, (LABELLED,))[LABELLED], f"{folder}/{LABELLED}")
    inputs, labels = labelled["inputs"], labelled["labels"]
    spec = program.signature.inputs[0]
    if len(program.signature.inputs) != 1 or inputs.shape[1:] != spec.shape or inputs.dtype != spec.dtype:
        return None
    starts = range(0, len(inputs), _JUDGED_AT_A_TIME)
    scores = [program.answers([inputs[at : at + _JUDGED_AT_A_TIME]])[0] for at in starts]
    return float((numpy.concatenate(scores).argmax(-1) == labels).mean())
