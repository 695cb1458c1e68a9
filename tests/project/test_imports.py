"""Who imports whom, functions' own imports included: the contracts of pyproject.toml, and what a package stands on."""

import ast
import logging
import re
import sys
import tomllib
from pathlib import Path

import grimp
import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("course", "grader", "modelserver", "simgpu")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
#: package -> what its files may import from outside the three packages, besides the standard library.
MAY_IMPORT = {
    "simgpu": {"torch"},
    "grader.inside": {"numpy", "torch", "IPython", "traitlets"},  # each only for an answer that uses it
}
#: Loaded by pytest alone, which it may therefore import.
PLUGINS = {"simgpu.pytest_plugin"}
#: package -> where in the three packages it may reach.
MAY_REACH = {"simgpu": ("simgpu",), "grader.inside": ("grader.inside",)}

#: What imports by a string and is no lazy face of a package: none of these strings names a file of ours.
BY_STRING = {
    "course/checks/discovery.py": "the checks that lie beside the notebook that asks",
    "course/checks/exercise.py": "the strategies that lie beside those checks",
    "course/deploy/launcher.py": "the library that an extra brings",
    "course/serving.py": "the names of modelserver under their former address",
    "course/training/problems/named.py": "the reader's own problem",
    "grader/inside/serve.py": "what the lab's setting lets a submission find imported",
}


@pytest.fixture(autouse=True)
def loggers_as_they_were():
    """import-linter's set-up disables every logger that is there: tests after these would wait for words in vain."""
    known = [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    before = [one.disabled for one in known]
    yield
    for one, was in zip(known, before, strict=True):
        one.disabled = was


@pytest.fixture(scope="module")
def graph():
    """Every file of the three packages, and which it imports; what only a type checker reads is left out."""
    settings = {"include_external_packages": True, "exclude_type_checking_imports": True, "cache_dir": None}
    return grimp.build_graph(*PACKAGES, **settings)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract["id"])
def test_a_contract_is_kept(contract, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    code = lint_imports(limit_to_contracts=(contract["id"],), no_cache=True, no_logo=True)
    assert code == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_no_circle_between_files(graph):
    assert circles(graph) == []


def test_only_lazy_faces_import_by_a_string():
    """An arrow that the contracts can't see is none: whoever needs a room names it in an import."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "tests" not in path.parts]
    by_string = {path.relative_to(ROOT) for path in files if imports_by_string(path.read_text(encoding="utf-8"))}
    assert {path.as_posix() for path in by_string if path.name != "__init__.py"} <= BY_STRING.keys()
    for face in (path for path in by_string if path.name == "__init__.py"):
        text, package = (ROOT / face).read_text(encoding="utf-8"), ".".join(face.parent.parts)
        assert "def __getattr__(" in text, face
        named = re.findall(rf"""import_module\(f?["']((?:{"|".join(PACKAGES)})[.\w]*)""", text)
        assert [
            name for name in named if not name.startswith(package) and face.parts[:2] != ("course", "__init__.py")
        ] == []


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("from importlib import import_module\nimport_module('course.widgets')", True),
        ("import importlib\nimportlib.import_module(name)", True),
        ("__import__('course.widgets')", True),
        ("import course.widgets", False),
    ],
)
def test_the_search_for_imports_by_string_finds_them(text, does):
    assert imports_by_string(text) == does


def imports_by_string(text):
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    names = {getattr(call, "attr", getattr(call, "id", "")) for call in calls}
    return not names.isdisjoint({"import_module", "__import__"})


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_of_annotations(package):
    assert circles(grimp.build_graph(package, exclude_type_checking_imports=False, cache_dir=None)) == []


def test_the_search_for_circles_finds_one():
    made = grimp.ImportGraph()
    for importer, imported in [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]:
        made.add_module(importer)
        made.add_module(imported)
        made.add_import(importer=importer, imported=imported)
    assert circles(made) == [["b", "c"]]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_stands_on_little(graph, package):
    wrong = []
    for module in {package, *graph.find_descendants(package)} - PLUGINS:
        for imported in graph.find_modules_directly_imported_by(module):
            top = imported.partition(".")[0]
            here = any(imported == place or imported.startswith(place + ".") for place in MAY_REACH[package])
            if not here and top not in MAY_IMPORT[package] | sys.stdlib_module_names:
                wrong.append(f"{module} imports {imported}")
    assert sorted(wrong) == []


def circles(graph):
    """Return the circles of `graph`: sorted lists of modules that all import one another, by whatever way."""
    found, left = [], set(graph.modules)
    while left:
        module = min(left)
        both = graph.find_downstream_modules(module) & graph.find_upstream_modules(module) if module in left else set()
        left -= {module, *both}
        if both:
            found.append(sorted({module, *both}))
    return found
