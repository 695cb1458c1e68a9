"""Which version is served: the newest good one, or the one that a file beside the versions names.

The file outlives the server: one that starts anew at night stays at the version that you rolled back to.
"""

import os
import uuid
from contextlib import suppress
from pathlib import Path

from modelserver.versions.version import numbers

_NAME = "serve"


def pinned(folder: Path) -> int | None:
    """Return the number that the model in `folder` is held at; None where the newest good one is served."""
    with suppress(OSError, ValueError):
        return int((folder / _NAME).read_text(encoding="ascii"))
    return None


def pin(directory: str | os.PathLike, name: str, version: int | str) -> int | None:
    """Hold the model `name` in `directory` at `version`: a number, or "previous", one below the one that it is held at.

    "newest" holds it no longer. A server that watches the folder switches in a second or so, and stays there until
    the next call, whatever is exported. Returns the number, None for the newest. Where it is not held at any,
    "previous" is one below the newest. Raises ValueError, naming the versions that are there, for any other.

    >>> pin("models", "mnist", "previous")  # doctest: +SKIP
    3
    """
    folder = Path(directory) / name
    present = numbers(folder)
    if version == "newest":
        (folder / _NAME).unlink(missing_ok=True)
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
    aside = folder / f".{_NAME}.{uuid.uuid4().hex}"
    aside.write_text(f"{number}\n", encoding="ascii")
    os.replace(aside, folder / _NAME)
    return number
