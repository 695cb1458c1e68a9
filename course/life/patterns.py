"""The patterns that come with the course, by name; each is an RLE file in `course/life/patterns`."""

import difflib
from pathlib import Path

import torch

from course.life.files import read_pattern, rule_of

_FOLDER = Path(__file__).parent / "patterns"


def pattern(name: str) -> torch.Tensor:
    """Return the pattern called `name` as a board just large enough to hold it.

    >>> pattern("glider").tolist()
    [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    """
    path = pattern_file(name)
    return read_pattern(path, rule=rule_of(path))


def pattern_file(name: str) -> Path:
    """Return the path of the file that holds the pattern called `name`."""
    names = pattern_names()
    if name not in names:
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0)[0]
        raise ValueError(f"pattern({name!r}): the patterns are {', '.join(names)}.\nNearest: pattern({near!r}).")
    return _FOLDER / f"{name}.rle"


def pattern_names() -> list[str]:
    """Return the names of all patterns, in alphabetical order."""
    return sorted(path.stem for path in _FOLDER.glob("*.rle"))
