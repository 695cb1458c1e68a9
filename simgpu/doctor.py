"""`python -m simgpu doctor`: what this computer offers, and what a program will meet. No program is run for it."""

import ast
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, entry_points
from pathlib import Path
from typing import NamedTuple

from simgpu import versions
from simgpu.supported import DIFFERS, REFUSED, ROWS, UNSEEN, Row


class Finding(NamedTuple):
    """A use, at `line` of a program, of the part of CUDA that `row` describes."""

    line: int
    name: str
    row: Row


def examine(files: Sequence[str]) -> int:
    """Print what is here and what each of the `files` will meet; return 1 if something is refused, 2 for a file
    that is no Python.

    Files are read and parsed, never run.
    """
    if not files:
        print("\n".join(computer()))
        return 0
    status = 0
    for file in files:
        try:
            uses = findings(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
            print(f"{file}: can't be read as Python: {error}")
            status = 2
            continue
        for finding in uses:
            row = finding.row
            words = f"{row.part}: {row.how}".replace("`", "")
            print(f"{file}:{finding.line}: {finding.name}: {row.verdict}: {words}")
        stops = [finding for finding in uses if finding.row.verdict in (REFUSED, UNSEEN)]
        others = len(uses) - len(stops)
        print(f"{file}: {len(stops)} uses that simulated GPUs stop at, {others} that differ; the rest runs as on CUDA.")
        status = max(status, int(bool(stops)))
    return status


def findings(source: str) -> list[Finding]:
    """Return the `Finding`s in a program's text, by line; raises SyntaxError where it is no Python.

    >>> found = findings("from torch import export\\ng = export.export(f, x)")[-1]
    >>> found.line, found.name, found.row.verdict
    (2, 'torch.export.export', 'refused')
    """
    tree = ast.parse(source)
    imports = dict(_imports(tree))
    uses = {}
    for line, name in _names(tree, imports):
        row = _row(name)
        if row is not None:
            uses.setdefault((line, row.part), Finding(line, name, row))
    return sorted(uses.values(), key=lambda finding: (finding.line, finding.name))


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (name in this program, dotted name) of every import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _names(tree: ast.AST, imports: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of every import and every attribute; a method of an unknown object as `.method`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Attribute):
            dotted = _dotted(node, imports)
            yield node.lineno, dotted or f".{node.attr}"
        elif isinstance(node, ast.Name) and node.id in imports and imports[node.id] != node.id:
            yield node.lineno, imports[node.id]


def _dotted(node, imports):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in imports:
        return None
    return ".".join([imports[node.id], *reversed(parts)])


def _row(name):
    for row in ROWS:
        if row.verdict in (REFUSED, UNSEEN, DIFFERS):
            for wanted in row.names:
                if name == wanted or name.startswith(f"{wanted}."):
                    return row
    return None


def computer() -> list[str]:
    """Return lines on this Python, its torch, its GPUs, and how simgpu is started in it."""
    from simgpu.models.catalogue import data_sheets

    lines = [
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    ]
    try:
        torch_version = versions.installed()
    except PackageNotFoundError:
        return [*lines, "PyTorch is not here: python -m pip install torch"]
    tried = "of those tried" if versions.is_tried(torch_version) else f"NOT tried: {versions.TRIED} are"
    lines.append(f"PyTorch {torch_version}, {tried}")
    import torch

    if torch.version.cuda is None:
        lines.append("a build without CUDA: the simulated GPUs are the only ones")
    else:
        real = torch.cuda.device_count()
        lines.append(f"a build for CUDA {torch.version.cuda}, {real} real GPUs: hidden while some are simulated")
    installed = bool(entry_points(group="torch.backends", name="simgpu"))
    lines.append(
        "started by PyTorch's own import: " + ("yes, `simgpu run` works" if installed else "no: install simgpu")
    )
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") != "1":
        lines.append("TORCH_DEVICE_BACKEND_AUTOLOAD is not 1 in this shell: `simgpu run` sets it for its program")
    lines.append(f"models: {', '.join(data_sheets())}")
    return lines
