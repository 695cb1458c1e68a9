"""The part of `course` that a submission sees: the modules that the lab allows, without the names that it asks for.

`from course.life import step` would be the answer to a lab. So the sandbox has no `course` but these few files: each
allowed module's text, its imports from modules that aren't there taken out, every masked name replaced by one that says
why it is missing. `course.check` does nothing there: the real one holds oracles. Other modules can be imported all the
same (`inside/stand_ins.py`), so a needless import costs nothing.
"""

import ast
from functools import lru_cache
from importlib.util import resolve_name
from pathlib import Path

#: Where the files stand in the sandbox; it comes first on `sys.path`.
ROOT = "/visible"
COURSE = Path(__file__).resolve().parents[2] / "course"
STAND_INS = Path(__file__).parents[1] / "inside" / "stand_ins.py"

_MISSING = """
def _not_here(name):
    def missing(*_, **__):
        raise NotImplementedError(f"{name} is not there when a lab is marked: it may be what an exercise asks for.")

    missing.__name__ = name.rpartition(".")[2]
    return missing
"""

_CHECKS = '''"""`check` in a lab that is being marked: it does nothing, since marks are made outside."""


class Verdict:
    """The result of `check` here."""

    state, message = "passed", "not checked here"

    def __repr__(self):
        return self.message


def check(answer=None, exercise=None):
    return Verdict()
'''


@lru_cache(maxsize=32)
def visible_files(modules: tuple[str, ...], masked: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Return absolute path inside -> bytes, for the allowed `modules` (`course.life.files`) less the `masked` names.

    A package's `__init__` comes with its modules; `course/life/patterns/`, with a slash, is a folder's data files.
    Raises ValueError for a module or name that isn't there: a mask that misses would show what it was to hide.
    """
    names = {name for name in modules if "/" not in name}
    names |= {name.rpartition(".")[0] for name in names if name.count(".") > 1} | {"course", "course.signals"}
    files, hidden = {}, set(masked)
    for name, place in {name: _place(name) for name in sorted(names)}.items():
        text, hidden_here = _masked(name, place, names, set(masked))
        hidden -= hidden_here
        files[f"{ROOT}/{place.relative_to(COURSE.parent)}"] = text.encode()
    if hidden:
        raise ValueError(f"masked={sorted(hidden)}: no allowed module has these names at its top. Allowed: {modules}.")
    for name in modules:
        if "/" in name:
            files.update(_data(name))
    files[f"{ROOT}/course/checks/__init__.py"] = _CHECKS.encode()
    # in its text, so that processes that an answer starts anew have it too
    files[f"{ROOT}/course/__init__.py"] += b"\n\n" + STAND_INS.read_bytes() + b"\n\ninstall()\n"
    return files


def _place(module):
    path = COURSE.parent.joinpath(*module.split("."))
    for place in (path / "__init__.py", path.with_suffix(".py")):
        if place.is_file() and module.split(".")[0] == "course":
            return place
    raise ValueError(f"modules={module!r}: course has no such module. Write it as in an import, `course.life.files`.")


def _data(folder):
    path = (COURSE.parent / folder).resolve()
    if not path.is_dir() or COURSE not in path.parents:
        raise ValueError(f"modules={folder!r}: course has no such folder of data.")
    data_files = [file for file in sorted(path.iterdir()) if file.is_file() and file.suffix != ".py"]
    return {f"{ROOT}/{file.relative_to(COURSE.parent)}": file.read_bytes() for file in data_files}


def _masked(module, place, modules, masked):
    """Return the module's text as it is shown, and which of the `masked` names it had."""
    text = place.read_text(encoding="utf-8")
    package = module if place.name == "__init__.py" else module.rpartition(".")[0]
    pass_ = _Mask(module, package, modules, masked)
    tree = pass_.visit(ast.parse(text))
    if pass_.used:
        start = 1 if ast.get_docstring(tree) is not None else 0
        tree.body[start:start] = ast.parse(_MISSING).body
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return text, pass_.masked_here


class _Mask(ast.NodeTransformer):
    def __init__(self, module, package, modules, masked):
        self.module, self.package, self.modules, self.masked = module, package, modules, masked
        self.scope, self.masked_here = [module], set()
        self.used = False  # whether anything was taken out

    def visit_ImportFrom(self, node):
        source = resolve_name("." * node.level + (node.module or ""), self.package)
        if source.split(".")[0] not in ("course", "simgpu"):
            return node
        kept_aliases = [alias for alias in node.names if self._is_there(source, alias)]
        lost = [
            self._stub(alias.asname or alias.name, f"{source}.{alias.name}")
            for alias in node.names
            if alias not in kept_aliases
        ]
        rest = [ast.ImportFrom(node.module, kept_aliases, node.level)] if kept_aliases else []
        return [*rest, *lost]

    def visit_Import(self, node):
        lost = [o for o in node.names if o.name.split(".")[0] in ("course", "simgpu") and o.name not in self.modules]
        if not lost:
            return node
        self.used = True
        kept_aliases = [alias for alias in node.names if alias not in lost]
        stubs = [self._stub(alias.asname or alias.name.split(".")[0], alias.name) for alias in lost if alias.asname]
        return [*([ast.Import(kept_aliases)] if kept_aliases else []), *stubs] or ast.Pass()

    def visit_FunctionDef(self, node):
        name = ".".join([*self.scope, node.name])
        if name in self.masked:
            self.masked_here.add(name)
            return self._stub(node.name, name)
        self.scope.append(node.name)
        self.generic_visit(node)
        self.scope.pop()
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Assign(self, node):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {".".join([*self.scope, target.id]): target.id for target in targets if isinstance(target, ast.Name)}
        gone = [name for name in names if name in self.masked]
        self.masked_here.update(gone)
        return [self._stub(names[name], name) for name in gone] if gone else node

    visit_AnnAssign = visit_Assign

    def _is_there(self, source, alias):
        # a name may be masked where it is defined, or in the package that hands it on
        here, whole = f"{self.module}.{alias.asname or alias.name}", f"{source}.{alias.name}"
        if here in self.masked or whole in self.masked:
            self.masked_here |= {here} & self.masked
            return False
        return source in self.modules and (whole in self.modules or not _is_module(whole))

    def _stub(self, target, name):
        self.used = True
        return ast.parse(f"{target} = _not_here({name!r})").body[0]


def _is_module(name):
    path = COURSE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()
