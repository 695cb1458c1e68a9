"""What others call says what it is: types on every public signature, a docstring on whatever has no underscore.

Whether the types are right, mypy says: `test_types` runs it.
"""

import ast
import inspect
import pkgutil
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("course", "grader", "modelserver", "simgpu")
FACES = [
    name
    for package in PACKAGES
    for name in (package, *(m.name for m in pkgutil.walk_packages([str(ROOT / package)], f"{package}.") if m.ispkg))
]
FILES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if ROOT / package / "tests" not in path.parents
)


@pytest.mark.parametrize("face", FACES)
def test_a_room_says_in_a_sentence_what_it_is(face):
    assert (import_module(face).__doc__ or "").strip()


@pytest.mark.parametrize("face", [name for name in FACES if hasattr(import_module(name), "__all__")])
def test_the_signatures_of_public_names_are_typed(face):
    room = import_module(face)
    assert [line for name in room.__all__ for line in untyped(getattr(room, name), f"{face}.{name}")] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_whatever_has_no_underscore_has_a_docstring(package):
    files = (path for path in FILES if path.relative_to(ROOT).parts[0] == package)
    assert [f"{path.relative_to(ROOT)}: {what}" for path in files for what in undocumented(path)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_type_checker_may_read_the_types(package):
    assert (ROOT / package / "py.typed").exists()


def untyped(thing, name):
    """Yield a line for each parameter or result of `thing`, a function or a class's public methods, without a type."""
    if inspect.isclass(thing) and not getattr(thing, "_is_protocol", False):
        if getattr(thing, "__init__", None) is not object.__init__ and not is_dataclass(thing):
            yield from untyped(vars(thing).get("__init__"), name)
        for key, member in vars(thing).items():
            if not key.startswith("_") and key not in inspect.get_annotations(thing):  # a field has its type there
                yield from untyped(function_of(member), f"{name}.{key}")
    elif inspect.isfunction(thing):
        for parameter in inspect.signature(thing).parameters.values():
            if parameter.annotation is parameter.empty and parameter.name not in ("self", "cls"):
                yield f"{name}({parameter.name}) has no type"
        if "return" not in thing.__annotations__ and thing.__name__ != "__init__":
            yield f"{name} does not say what it returns"


def function_of(member):
    """Return the function behind a method, a property, a class's or static method; anything else as it is."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return member.func
    return inspect.unwrap(getattr(member, "__func__", member)) if callable(member) else member


def undocumented(path):
    """Yield the names of functions, methods and classes in the file at `path` that are public and have no docstring."""
    open_places = [("", ast.parse(path.read_text(encoding="utf-8")))]
    while open_places:
        prefix, place = open_places.pop()
        for node in place.body:
            named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            if not named or node.name.startswith("_") or of_a_setter(node):
                continue
            if ast.get_docstring(node) is None:
                yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                open_places.append((f"{prefix}{node.name}.", node))


def of_a_setter(node):
    """Whether `node` sets a property or states an overload: what it is, is said where it is read."""
    return any(isinstance(mark, ast.Attribute) and mark.attr == "setter" for mark in node.decorator_list)
