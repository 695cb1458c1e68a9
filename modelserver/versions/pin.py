"""Which version is served: the newest good one, or the one that a file beside the versions names.

The file outlives the server: one that starts anew at night stays at the version that you rolled back to.
"""

import os
import uuid
from contextlib import suppress
from pathlib import Path

from modelserver.bucket import BucketPath, path_of
from modelserver.versions.version import numbers

PIN = "serve"  # the file's name


def pinned(folder: Path | BucketPath) -> int | None:
    """Return the number that the model in `folder` is held at; None where the newest good one is served."""
    with suppress(OSError):
        return held_in(folder)
    return None


def held_in(folder: Path | BucketPath) -> int | None:
    """Return what `pinned` does; OSError where the file can't be read."""
    try:
        return int((folder / PIN).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None


def hold(folder: Path | BucketPath, number: int | None) -> None:
    """Hold the model in `folder` at a version, or no longer: the file is there whole, or as before."""
    if number is None:
        (folder / PIN).unlink(missing_ok=True)
    elif isinstance(folder, BucketPath):
        (folder / PIN).write_bytes(f"{number}\n".encode())
    else:
        aside = folder / f".{PIN}.{uuid.uuid4().hex}"
        aside.write_text(f"{number}\n", encoding="ascii")
        os.replace(aside, folder / PIN)


def pin(directory: str | os.PathLike, name: str, version: int | str) -> int | None:
    """Hold the model `name` in `directory`, or at that address, at `version`: a number, or "previous", one lower.

    "newest" holds it no longer. A server that watches switches in a second (in ten, at an address), and stays until
    the next call, whatever is exported. Returns the number, None for the newest. Where it is not held at any,
    "previous" is one below the newest. Raises ValueError, naming the versions that are there, for any other.

    >>> pin("models", "mnist", "previous")  # doctest: +SKIP
    3
    """
    folder = path_of(directory) / name
    present = numbers(folder)
    if version == "newest":
        hold(folder, None)
        return None
    if version == "previous":
        held = pinned(folder)
        below = [number for number in present if held is None or number < held][: -1 if held is None else None]
        number = below[-1] if below else None
    else:
        number = int(version) if str(version).isdecimal() and int(version) in present else None
    if number is None:
        shown = ", ".join(map(str, present)) or "none"
        raise ValueError(
            f"pin({str(directory)!r}, {name!r}, {version!r}): there is no such version; there are: {shown}. "
            'Give one of these, "previous" or "newest".'
        )
    hold(folder, number)
    return number
