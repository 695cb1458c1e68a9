"""Which files of a lab's folder go to students with the notebook: its data, its checks and what those import.

Never the teacher's: the text with the solutions, the marking, the wrong answers, the hosts of the marking.
"""

import ast
from pathlib import Path

from grader.lab.source import LabError

#: Where the reading of imports begins; `strategies` is loaded by name, when a check looks for a counterexample.
PUBLIC = ("checks", "strategies")
PRIVATE = ("lab", "marking", "wrong")


def check_files(folder: Path) -> list[str]:
    """Return the names of `checks.py`, `strategies.py` and all files of `folder` that they import, in order.

    Raises LabError where one of them imports a file that is the teacher's.
    """
    found, left = set(), [stem for stem in PUBLIC if (folder / f"{stem}.py").is_file()]
    while left:
        stem = left.pop()
        if stem in PRIVATE:
            raise LabError(f"{folder.name}: its checks import {stem}.py, which is not for students.")
        found.add(stem)
        left += [one for one in _siblings(folder, stem) if one not in found]
    return sorted(f"{stem}.py" for stem in found)


def _siblings(folder, stem):
    """Return the stems of the files in `folder` that `stem`.py imports, wherever in it the import stands."""
    tree = ast.parse((folder / f"{stem}.py").read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names |= {node.module.partition(".")[0]} if node.module else {alias.name for alias in node.names}
    return sorted(name for name in names if (folder / f"{name}.py").is_file())
