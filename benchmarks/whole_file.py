"""Files that are there whole or not at all: who is interrupted while one is written leaves none."""

import os
from collections.abc import Callable
from pathlib import Path


def write(path: Path, into: Callable[[Path], object]) -> None:
    """Let `into(unfinished)` write a file beside `path`, in a folder that is made, then give it the name of `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")  # its ending stays: some libraries add one
    try:
        into(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` into `path` as UTF-8."""
    write(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))
