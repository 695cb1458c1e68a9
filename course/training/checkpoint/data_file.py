"""A checkpoint's data file: the tensors, as PyTorch saves them, read back only when every byte is as it was written."""

import hashlib
import warnings
from pathlib import Path
from typing import BinaryIO

import torch

from course.training.checkpoint.manifest import CheckpointError, Manifest, described
from course.training.checkpoint.snapshot import Snapshot, save_in_pieces
from modelserver.bucket import BucketPath


def write_data(snapshot: Snapshot, file: BinaryIO) -> tuple[int, str]:
    """Write the snapshot's tensors to the open binary `file`; return (bytes, SHA-256). Raises OSError."""
    state = {name: {k: _own(v) for k, v in entry.items()} for name, entry in snapshot.optimizer["state"].items()}
    parameters = {name: _own(value) for name, value in snapshot.parameters.items()}
    sha256 = hashlib.sha256()

    def take(piece):
        file.write(piece)
        sha256.update(piece)

    save_in_pieces({"parameters": parameters, "optimizer": {**snapshot.optimizer, "state": state}}, take)
    return file.tell(), sha256.hexdigest()


def read_data(path: Path | BucketPath, manifest: Manifest) -> tuple[dict, dict]:
    """Return (parameters, optimizer) from the data file at `path`; raises CheckpointError for any that isn't whole.

    Raises TimeoutError when a store is silent: it says nothing of the file.
    """
    try:
        with path.open("rb") as file:
            _check_bytes(path, file, manifest)
            file.seek(0)
            state = _loaded(path, file)
    except TimeoutError:
        raise
    except FileNotFoundError as error:
        raise CheckpointError(path, "the data file is missing") from error
    except OSError as error:
        raise CheckpointError(path, f"it can't be read ({error.strerror or error})") from error
    problem = _problem(state, manifest)
    if problem:
        raise CheckpointError(path, problem)
    return state["parameters"], state["optimizer"]


def _own(value):
    """Return a tensor that owns its memory: of a view, PyTorch would save all that lies under it."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    return value if value.untyped_storage().nbytes() == value.nbytes else value.clone()


def _check_bytes(path, file, manifest):
    """Compare size and checksum before anything is parsed."""
    size = file.seek(0, 2)
    if size != manifest.size:
        state = "empty" if size == 0 else "torn" if size < manifest.size else "longer than it was written"
        raise CheckpointError(path, f"it is {state}: {size} bytes of {manifest.size}")
    file.seek(0)
    if hashlib.file_digest(file, "sha256").hexdigest() != manifest.sha256:
        raise CheckpointError(path, "its checksum is wrong: it was changed after it was written")


def _loaded(path, file):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old file formats, which are refused anyway
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # pickle, zip and torch each raise their own; PyTorch's advice to unpickle is left out
        reason = "it holds something other than tensors and numbers, or isn't a PyTorch file"
        raise CheckpointError(path, reason) from error


def _problem(state, manifest):
    if not isinstance(state, dict) or state.keys() != {"parameters", "optimizer"}:
        return "it does not hold parameters and an optimiser's state"
    parameters, optimizer = state["parameters"], state["optimizer"]
    tensors = isinstance(parameters, dict) and all(type(value) is torch.Tensor for value in parameters.values())
    if not tensors or described(parameters) != manifest.parameters:
        return "its parameters are not those that the manifest names"
    groups, state = (optimizer.get(key) for key in ("groups", "state")) if isinstance(optimizer, dict) else (None, None)
    if not isinstance(groups, list) or not all(
        isinstance(g, dict) and isinstance(g.get("names"), list) for g in groups
    ):
        return "its optimiser's groups are not a list of named groups"
    if not isinstance(state, dict) or not all(n in parameters and isinstance(e, dict) for n, e in state.items()):
        return "its optimiser's state is not that of its parameters"
    return None
