"""Checkpoints: a training's snapshots in a folder, each whole or not there, the last few kept.

A checkpoint is a data file, which plain `torch.load(path, weights_only=True)` reads, and beside it a small manifest
(JSON) that names the data file with its size and SHA-256. Both are written under another name, flushed to the disk and
then renamed, the manifest last: until it has its name the checkpoint isn't there. The snapshot is one consistent cut
over all parameter-server tasks, merged, and the process that called `train` writes it into a folder of its own: no
disk has to be shared. On Windows a folder can't be flushed, so after a power cut the newest one may be missing there.

The folder may be an address in an object store. Nothing is renamed there: the data file is uploaded under its name,
which its checksum is part of, and then the manifest, each by one call that leaves the object whole or not there.
"""

import logging
import os
import re
import secrets
import socket
import tempfile
import warnings
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from course.training.checkpoint.data_file import read_data, write_data
from course.training.checkpoint.manifest import CheckpointError, Manifest, read_manifest, stem_of
from course.training.checkpoint.snapshot import Snapshot
from modelserver.bucket import BucketPath, path_of

#: The incarnation first: what came before the loss of a parameter server sorts before what came after it.
_NAME = re.compile(r"(checkpoint-(\d{4,})-(\d{12,}))(\.json|-[0-9a-f]{16}\.pt)")
_HOST = re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())
#: Files being written are named after their writer, so that those of a killed one can be found.
_TEMPORARY = re.compile(r"\.checkpoint-(.+)-(\d+)-[0-9a-f]{8}\.tmp")
_LOG = logging.getLogger(__name__)
_LOOKS_LIKE_ONE = (".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".safetensors")


class CheckpointWarning(UserWarning):
    """A checkpoint could not be read or written: the message names the file and the reason."""


@dataclass(frozen=True)
class Checkpoint:
    """One saved snapshot: its manifest's path, its step (`version`), `incarnation`, size in bytes and time (UTC)."""

    path: Path | BucketPath
    version: int
    incarnation: int
    nbytes: int
    saved: str


class Checkpoints:
    """The checkpoints in `folder` (made when first needed) or at a store's address, of which the newest `keep` stay.

    Newest means: of the highest incarnation, and in it of the highest step. Only complete checkpoints of this course
    are counted and removed, after a newer one is safely there; the one that was read last, broken ones and other
    people's files are never touched.

    >>> import tempfile, torch
    >>> from course.training.checkpoint.snapshot import Snapshot
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = Checkpoints(folder, keep=2)
    ...     for step in (10, 20, 30):
    ...         path = checkpoints.save(Snapshot(step, {"w": torch.tensor([1.0, 2.0])}, kind="SGD"))
    ...     print(path.name, [one.version for one in checkpoints.all()], checkpoints.latest())
    checkpoint-0000-000000000030.json [20, 30] Snapshot(version 30, incarnation 0, SGD, w: (2,))
    """

    def __init__(self, folder: str | os.PathLike, keep: int = 5):
        self.folder: Any = path_of(folder)  # a Path or a BucketPath
        self.keep = keep
        if keep < 1:
            raise ValueError(f"Checkpoints(keep={keep}): give the number of checkpoints to keep, from 1 up.")
        if not self.folder.is_dir() and self.folder.exists():
            raise ValueError(
                f"Checkpoints({str(folder)!r}): this is a file. Give a folder, which may not be there yet."
            )
        self._read = None  # the stem of the one read last: never removed

    def save(self, snapshot: Snapshot) -> Path | BucketPath:
        """Write the snapshot, remove what is then too many, and return the manifest's path.

        Saving a step again replaces it. Raises OSError when the disk or the store refuses, or a store is silent, and
        CheckpointError for parameters that hold NaN or infinity: nothing of the new checkpoint is then left (of a
        store that fell silent, perhaps its data), and all older ones are.
        """
        for name, value in snapshot.parameters.items():
            if not value.isfinite().all():
                raise CheckpointError(self.folder, f"{name!r} is not finite at step {snapshot.version}")
        path = self.folder / f"{stem_of(snapshot.incarnation, snapshot.version)}.json"
        manifest = _uploaded(snapshot, path) if isinstance(path, BucketPath) else _written(snapshot, path)
        _LOG.info("checkpoint written: %s, step %d, %d bytes", path, manifest.version, manifest.size)
        self._remove_old(path.stem, manifest.data)
        return path

    def latest(self) -> Snapshot | None:
        """Return the newest snapshot that can be read, or None; each broken one on the way is named in a warning."""
        stems = sorted(self._names(), key=_order, reverse=True)
        for stem in stems:
            try:
                snapshot = self.load(self.folder / f"{stem}.json")
            except CheckpointError as error:
                then = "There is none before it." if stem == stems[-1] else "The checkpoint before it is tried."
                warnings.warn(f"{error} {then}", CheckpointWarning, stacklevel=2)
                continue
            self._read = stem
            _LOG.info("checkpoint read: %s.json in %s", stem, self.folder)
            return snapshot
        for file in sorted(self.folder.iterdir(), key=str) if self.folder.is_dir() else ():
            if file.suffix in _LOOKS_LIKE_ONE and not _NAME.fullmatch(file.name):
                text = f"{file}: this is not a checkpoint of the course, and is not read."
                warnings.warn(text, CheckpointWarning, stacklevel=2)
        return None

    def to_resume(self) -> Snapshot | None:
        """Return what `latest` does; raise CheckpointError where there are checkpoints and none can be read."""
        newest, names = self.latest(), self._names()
        # data of step 0 without a manifest: the first save was cut short, and nothing had been trained
        trained = any(_order(stem)[1] or f"{stem}.json" in files for stem, files in names.items())
        if newest is None and trained:
            raise CheckpointError(
                self.folder,
                f"none of the {len(names)} checkpoints in it can be read (a warning names each, with the reason), and "
                "training does not begin anew by itself. Put good copies back, name another folder, or start anew on "
                "purpose by resume=False (--no-resume)",
            )
        return newest

    def load(self, path: str | os.PathLike | BucketPath) -> Snapshot:
        """Return the snapshot whose manifest is at `path`; raises CheckpointError, which names file and reason."""
        place = path_of(path)
        manifest = read_manifest(place)
        return manifest.snapshot(*read_data(place.parent / manifest.data, manifest))

    def all(self) -> list[Checkpoint]:
        """Return the complete checkpoints, oldest first, as a list of `Checkpoint`; data is not read for it."""
        checkpoints = []
        for stem in sorted(self._names(), key=_order):
            path = self.folder / f"{stem}.json"
            try:
                manifest = read_manifest(path)
                complete = (self.folder / manifest.data).stat().st_size == manifest.size
            except TimeoutError:
                raise  # a store is silent: of the next ones too
            except (CheckpointError, OSError):
                continue  # `latest` names it when it would have been needed
            if complete:
                fields = manifest.version, manifest.incarnation, manifest.size, manifest.saved
                checkpoints.append(Checkpoint(path, *fields))
        return checkpoints

    def next_incarnation(self) -> int:
        """Return a number above that of every checkpoint in the folder, broken ones too, for a training about to start.

        What it saves is then newer than all that was there, also when it goes on from an older step or from none.
        """
        return 1 + max((_order(stem)[0] for stem in self._names()), default=-1)

    def _names(self):
        """Return stem -> the files of that checkpoint, whatever is in them."""
        names = {}
        for entry in self.folder.iterdir() if self.folder.is_dir() else ():
            if match := _NAME.fullmatch(entry.name):
                names.setdefault(match[1], []).append(entry.name)
        return names

    def _remove_old(self, stem, data):
        """Remove complete checkpoints beyond the newest `keep`, and data files that no manifest names."""
        try:
            names, complete = self._names(), [checkpoint.path.stem for checkpoint in self.all()]
        except OSError as error:  # the new one is there
            warnings.warn(f"old checkpoints stay: {error}", CheckpointWarning, stacklevel=3)
            return
        spared = {stem, self._read, *complete[-self.keep :]}
        gone = [[f"{old}.json", *names[old]] for old in complete if old not in spared]  # the manifest goes first
        # a writer killed between its two renames leaves data alone; it goes when it would have gone anyway
        first = _order(complete[-self.keep]) if len(complete) >= self.keep else (-1, -1)
        gone += [files for old, files in names.items() if f"{old}.json" not in files and _order(old) < first]
        gone.append([other for other in names.get(stem, ()) if other.endswith(".pt") and other != data])
        for name in (name for files in gone for name in files):
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError as error:
                warnings.warn(f"an old checkpoint stays: {error}", CheckpointWarning, stacklevel=3)

    def __repr__(self):
        return f"Checkpoints({str(self.folder)!r}, keep={self.keep})"


def _order(stem):
    """Return what to sort a checkpoint by: (incarnation, step)."""
    return tuple(map(int, stem.split("-")[1:]))


def _written(snapshot, path):
    """Write the snapshot's two files into a folder of this machine; return its manifest, whose path is `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path.parent)
    with ExitStack() as undo:
        file = undo.enter_context(_temporary(path.parent))
        manifest = _data_written(snapshot, file, path.stem)
        note = undo.enter_context(_temporary(path.parent))
        note.write(manifest.as_bytes())
        data = path.parent / manifest.data
        for written in (file, note):
            written.flush()
            os.fsync(written.fileno())
            written.close()  # Windows renames closed files only
        with ExitStack() as unless_named:
            if not data.exists():
                unless_named.callback(data.unlink, missing_ok=True)
            os.replace(file.name, data)
            os.replace(note.name, path)
            unless_named.pop_all()
    _flush_folder(path.parent)
    return manifest


def _uploaded(snapshot, path):
    """Upload the snapshot's data, and then its manifest, which is returned, to the store's address `path`."""
    with tempfile.TemporaryDirectory(prefix="checkpoint-") as folder:
        with open(os.path.join(folder, "data"), "xb") as file:
            manifest = _data_written(snapshot, file, path.stem)
        data = path.parent / manifest.data
        data.upload(Path(file.name))
    try:
        path.write_bytes(manifest.as_bytes())
    except TimeoutError:
        raise  # the manifest may yet come: then it finds its data
    except OSError:
        with suppress(OSError):
            data.unlink()
        raise
    return manifest


def _data_written(snapshot, file, stem):
    """Write the tensors to the open `file`; return the `Manifest` that goes with it."""
    size, digest = write_data(snapshot, file)
    return Manifest.of(snapshot, f"{stem}-{digest[:16]}.pt", size, digest)


@contextmanager
def _temporary(folder):
    """A new binary file in `folder`, open for writing; it is closed and, unless renamed by then, removed at the end."""
    path = folder / f".checkpoint-{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        with open(path, "xb") as file:
            yield file
    finally:
        if path.exists():
            path.unlink()


def _remove_stale(folder):
    """Remove the temporary files of writers on this machine that no longer run."""
    for name in os.listdir(folder):
        match = _TEMPORARY.fullmatch(name)
        if match and match[1] == _HOST and not psutil.pid_exists(int(match[2])):
            with suppress(OSError):  # gone already, or another user's: the new file decides whether there is room
                os.unlink(folder / name)


def _flush_folder(folder):
    if os.name == "nt":
        return  # Windows has no such call
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
