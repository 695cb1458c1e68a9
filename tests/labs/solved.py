"""What the solutions of a lab define, by name."""

from pathlib import Path
from typing import Any

from grader.lab.source import read_source


def solved(lab: Path) -> dict[str, Any]:
    """Run the cells of the lab in this folder that are given or solve an exercise; return what they define."""
    names: dict[str, Any] = {}
    for cell in read_source(lab).cells:
        if cell.role in ("given", "exercise"):
            exec(compile(cell.solution, "<cell>", "exec"), names)
    return names
