"""What a stored output was made from: the sources of its cells, and the files of the course that they call.

A cell's stamp is a hash of its own source, of the sources of the cells above that made what it uses, and of the files
in which the course's functions that these cells call are defined (for a widget, also those that it calls). What those
files call in turn is left out: nearly everything would be in every stamp. Comments and empty lines are no part of it.
"""

import ast
import contextlib
import hashlib
import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
ROOMS = ("course", "simgpu")
WIDGETS = CHECKOUT / "course" / "widgets"
COMPARED = "nbval-check-output"  # the tests say when its output is stale


def stamps(cells: Iterable[Any]) -> dict[str, str]:
    """Return id -> stamp of the code `cells` of a notebook whose stored outputs no test compares.

    Exercises have no output, and what a check says of a stub is tested elsewhere: neither has a stamp.
    """
    modules: dict[str, ModuleType] = {}  # name in the notebook -> the package of ours that it stands for
    made: dict[str, frozenset[str]] = {}  # name in the notebook -> what its value was made from
    found = {}
    for cell in (one for one in cells if one.cell_type == "code"):
        tree = _parsed(cell.source)
        _import(tree, modules, made)
        used = {name for name in _read(tree) if name in made}
        files = {part for value in _attributes(tree, modules) for part in map(_part, _files_of(*value))}
        parts = frozenset({cell.source, *files}.union(*(made[name] for name in used)))
        made |= dict.fromkeys(_bound(tree), parts)
        tags = cell.metadata.get("tags", [])
        if COMPARED not in tags and "exercise" not in tags and "check" not in used:
            found[cell["id"]] = hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:16]
    return found


def _parsed(source):
    lines = ("pass" if line.startswith(("%", "!")) else line for line in source.splitlines())  # a magic is no Python
    return compile("\n".join(lines), "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _import(tree, modules, made):
    """Note which names of ours a cell (or a file) imports: packages in `modules`, all others, with their files."""
    for module, name, alias in _imports(tree):
        value = _value(module, name)
        if isinstance(value, ModuleType):
            modules[alias] = value
        else:
            made[alias] = frozenset(map(_part, _files_of(value, module)))


def _value(module, name):
    with contextlib.suppress(ModuleNotFoundError):
        return import_module(f"{module}.{name}")
    return getattr(import_module(module), name)


def _imports(tree) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ROOMS:
            for one in node.names:
                yield node.module, one.name, one.asname or one.name


def _attributes(tree, modules):
    """Yield (value, name of its package) of what a cell takes from packages of ours, such as `draw.table`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            package = modules[node.value.id]
            yield getattr(package, node.attr), package.__name__


def _read(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _bound(tree):
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def _files_of(value, module):
    """Return the files behind a `value` that was taken from `module`: where it is defined, and the data beside that."""
    own = inspect.getmodule(value) if inspect.isclass(value) or inspect.isfunction(value) else None
    file = Path(inspect.getsourcefile(own or import_module(module)))
    if not file.is_relative_to(CHECKOUT):
        return []
    behind = {file, *sorted(file.parent.glob("data/*"))}
    if file.parent == WIDGETS:  # a widget is the face of an engine: what it shows is the engine's
        for package, name, _ in _imports(_parsed(file.read_text(encoding="utf-8"))):
            engine = _value(package, name)
            if not isinstance(engine, ModuleType):
                behind |= set(_files_of(engine, package))
    return sorted(behind)


def _part(path):
    text = path.read_text(encoding="utf-8")
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return "\n".join([path.relative_to(CHECKOUT).as_posix(), *lines])
