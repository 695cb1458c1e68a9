"""A checkpoint's manifest: what is in its data file, which pushes are in it, and how to know that it is whole."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import torch

import course
from course.training.checkpoint.snapshot import Applied, Snapshot
from modelserver.bucket import BucketPath, path_of

FORMAT = 1  # goes up when an older course could not read what this one writes
_LIMIT = 1 << 26  # bytes: a manifest is small, and a file that is not one must not fill the memory


def stem_of(incarnation: int, version: int) -> str:
    """Return the name, without its ending, of the checkpoint of this incarnation and step."""
    return f"checkpoint-{incarnation:04d}-{version:012d}"


class CheckpointError(ValueError):
    """A checkpoint can't be read: the message names the file and what is wrong with it."""

    def __init__(self, path: str | os.PathLike | BucketPath, reason: str):
        super().__init__(f"{path}: {reason}.")
        self.path, self.reason = path_of(path), reason


@dataclass(frozen=True)
class Manifest:
    """What the JSON file says; `parameters` is name to [shape, dtype], `applied` session to its `Applied` as a list."""

    format: int
    data: str
    size: int
    sha256: str
    version: int
    incarnation: int
    optimizer: str
    seed: int
    applied: dict
    parameters: dict
    course: str
    torch: str
    saved: str

    @classmethod
    def of(cls, snapshot: Snapshot, data: str, size: int, sha256: str) -> "Manifest":
        """Return the manifest of `snapshot`, written to the file named `data` of `size` bytes."""
        at = int(snapshot.version), int(snapshot.incarnation), snapshot.kind, int(snapshot.seed)
        applied = {session: list(map(int, entry)) for session, entry in snapshot.applied.items()}
        writer = course.__version__, str(torch.__version__), datetime.now(UTC).isoformat(timespec="seconds")
        return cls(FORMAT, data, size, sha256, *at, applied, described(snapshot.parameters), *writer)

    def as_bytes(self) -> bytes:
        """Return the manifest as JSON, with a checksum of its own: a flipped digit of the step must not pass."""
        fields = asdict(self)
        return json.dumps({"checkpoint": "course.training", **fields, "seal": _seal(fields)}, indent=1).encode()

    def snapshot(self, parameters: dict, optimizer: dict) -> Snapshot:
        """Return the snapshot that was saved, from the tensors by name and the optimiser's state in the data file."""
        applied = {session: Applied(*entry) for session, entry in self.applied.items()}
        return Snapshot(self.version, parameters, optimizer, self.optimizer, self.incarnation, applied, self.seed)


def read_manifest(path: str | os.PathLike | BucketPath) -> Manifest:
    """Return the manifest at `path`; raises CheckpointError for a file that is missing, broken, foreign or too new.

    Raises TimeoutError when a store is silent: it says nothing of the file.
    """
    path = path_of(path)
    try:
        with path.open("rb") as file:
            text = file.read(_LIMIT + 1)
    except TimeoutError:
        raise
    except FileNotFoundError as error:
        raise CheckpointError(path, "the manifest is missing (its writer was stopped, or it was removed)") from error
    except OSError as error:
        raise CheckpointError(path, f"it can't be read ({error.strerror or error})") from error
    if not text:
        raise CheckpointError(path, "the file is empty")
    try:
        fields = json.loads(text) if len(text) <= _LIMIT else None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(path, "it is torn or not a checkpoint's manifest: not JSON") from error
    if not isinstance(fields, dict) or fields.pop("checkpoint", None) != "course.training":
        raise CheckpointError(path, "it is not a checkpoint's manifest")
    number = fields.get("format")
    if isinstance(number, int) and number > FORMAT:
        written = f"it has format {number}, written by course {fields.get('course')}"
        raise CheckpointError(path, f"{written}; this course reads up to {FORMAT}")
    seal = fields.pop("seal", None)
    if seal != _seal(fields) or fields.keys() != Manifest.__dataclass_fields__.keys():
        raise CheckpointError(path, "its checksum is wrong: it was changed after it was written")
    manifest = Manifest(**fields)
    problem = _problem(manifest, path.name)
    if problem:
        raise CheckpointError(path, problem)
    return manifest


def described(parameters: dict[str, torch.Tensor]) -> dict[str, list]:
    """Return name to [shape, dtype], as JSON has them."""
    return {name: [list(value.shape), str(value.dtype)] for name, value in parameters.items()}


def _seal(fields):
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _problem(manifest, file_name):
    """Return what is wrong with a manifest whose checksum is right: someone else made it, or it was renamed."""
    for name, field in Manifest.__dataclass_fields__.items():
        value = getattr(manifest, name)
        if type(value) is not field.type:
            return f"its {name} is {value!r}, not of type {field.type.__name__}"
    stem = stem_of(manifest.incarnation, manifest.version)
    if file_name != f"{stem}.json":
        return f"it was renamed: it was written as {stem}.json"
    if manifest.data != f"{stem}-{manifest.sha256[:16]}.pt":
        return f"its data file {manifest.data!r} is not the one beside it"
    if min(manifest.version, manifest.incarnation, manifest.size) < 0:
        return "it has a negative step, incarnation or size"
    entries = manifest.applied.values()
    if not all(isinstance(e, list) and len(e) == 4 and all(type(n) is int for n in e) for e in entries):
        return "its table of applied pushes is not four whole numbers a session"
    return None
