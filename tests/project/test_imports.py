"""Who imports whom, functions' own imports included: the contracts of pyproject.toml, and what a package stands on."""

import logging
import sys
import tomllib
from pathlib import Path

import grimp
import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).resolve().parents[2]
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
    return grimp.build_graph(
        "course",
        "grader",
        "modelserver",
        "simgpu",
        include_external_packages=True,
        exclude_type_checking_imports=True,
        cache_dir=None,
    )


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract["id"])
def test_a_contract_is_kept(contract, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    code = lint_imports(limit_to_contracts=(contract["id"],), no_cache=True, no_logo=True)
    assert code == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_no_circle_between_files(graph):
    assert circles(graph) == []


@pytest.mark.parametrize("package", ["course", "grader", "modelserver", "simgpu"])
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
