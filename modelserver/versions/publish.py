"""How a version appears: it is written under another name, then renamed; and which old ones go."""

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from modelserver.versions.checksums import NAME, write_checksums
from modelserver.versions.pin import pinned
from modelserver.versions.version import numbers

MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FOLDERS = 0o755  # whatever the umask: a version that a group may write to would not be served


def model_folder(directory: str | os.PathLike, name: str) -> Path:
    """Return the folder of the model `name`, made where it is missing; ValueError for a name that is no path's part."""
    if not MODEL.fullmatch(name):
        raise ValueError(
            f"name={name!r}: a model's name is part of an address: 1 to 64 letters, digits, '_', '-' and '.', "
            "the first a letter or digit, such as 'mnist'."
        )
    folder = Path(directory) / name
    if not folder.is_dir():
        Path(directory).mkdir(mode=_FOLDERS, parents=True, exist_ok=True)
        folder.mkdir(mode=_FOLDERS, exist_ok=True)
    return folder


@contextmanager
def written_aside(model: Path) -> Iterator[Path]:
    """Give a new folder to write a version's files into; on failure it is removed, and no version has appeared."""
    aside = model / f".export.{uuid.uuid4().hex}"
    aside.mkdir(mode=_FOLDERS)
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # renamed by now, or not to be seen


def publish(aside: Path) -> Path:
    """Write the checksums of `aside`, and rename it to the next version of its model; return the version's folder.

    Processes that publish at once get a number each: a rename to a folder that is there fails.
    """
    write_checksums(aside)
    for path in aside.iterdir():
        path.chmod(0o644)
        _to_disk(path)
    _to_disk(aside)
    model = aside.parent
    number = max(numbers(model), default=0)
    while True:
        number += 1
        if _renamed(aside, model / str(number)):
            _to_disk(model)
            return model / str(number)


def prune(model: Path, keep: int) -> list[int]:
    """Remove the oldest versions of a `model`'s folder but for the newest `keep`; return which.

    The version that the model is held at stays, and so does one that a server has in use (`in_use`).
    """
    old = [number for number in numbers(model)[:-keep] if number != pinned(model)]
    return [number for number in old if _removed(model / str(number))]


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Within the `with`, no `prune` removes the version in `folder`, in this process or another."""
    with open(folder / NAME, "rb") as file:  # on Windows an open file is reason enough
        _locked(file, shared=True)
        yield


def _removed(folder):
    aside = folder.with_name(f".pruned.{uuid.uuid4().hex}")
    try:
        with open(folder / NAME, "rb") as file:
            if not _locked(file, shared=False):
                return False
            os.rename(folder, aside)  # gone at once for whoever looks
    except FileNotFoundError:
        return False  # another process prunes too, or it never was complete: somebody may be writing it
    except PermissionError:
        return False  # Windows: a server has it open
    shutil.rmtree(aside, ignore_errors=True)
    return True


def _locked(file, shared):
    """Lock `file` if that is possible at once; return whether it was. It is unlocked when it is closed."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _renamed(aside, target):
    """Rename `aside` to `target`, unless that is there already; return whether it was done."""
    if target.exists():  # an empty folder would be replaced
        return False
    try:
        os.rename(aside, target)
    except OSError:
        if target.exists():  # another process was quicker
            return False
        raise
    return True


def _to_disk(path):
    """Wait until the disk has what is in `path`, so that no crash leaves a version with files that are empty."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
