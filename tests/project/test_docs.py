"""What the papers say is so: commands exist, links lead somewhere, chapters are as the table says, examples run."""

import doctest
import os
import pkgutil
import re
import runpy
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import yaml

import course

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAPERS = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "modelserver" / "README.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "modelserver" / "docs").rglob("*.md")),
]
CHAPTERS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "notebooks" / "source").glob("[0-9]*.py")}
#: | 03 | [Game of Life](notebooks/03_game_of_life.ipynb) | 45 | How many …? |
ROW = re.compile(r"^\| (\d\d) \| \[(.+?)\]\(notebooks/(\w+)\.ipynb\) \| (\d+) \| (.+?) \|$", re.M)


def has_examples(module):
    path = ROOT / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ">>> " in file.read_text(encoding="utf-8")


MODULES = [
    name
    for package in ("course", "grader", "modelserver", "simgpu")
    for name in (package, *(module.name for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}.")))
    if has_examples(name)
]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.name)
def test_a_papers_links_and_commands_lead_somewhere(paper):
    words = paper.read_text(encoding="utf-8")
    for link in re.findall(r"(?:\]\(|src=\"|srcset=\")([^)\"\s]+)", words):
        file, _, place = link.partition("#")  # the places of a page are its headings, as GitHub names them
        assert link.startswith("https://") or (paper.parent / file).exists(), link
        if place and not file:
            headings = [re.sub(r"[^\w -]", "", line.lower()) for line in re.findall(r"^#+ (.+)$", words, re.M)]
            assert place in [heading.replace(" ", "-") for heading in headings], link
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for command in re.findall(r"(?:^|`)make ([a-z]+)", words, re.M):
        assert command in targets, f"make {command}"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no make")
def test_make_alone_lists_every_command():
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, timeout=30, env=environment)
    listed = re.findall(r"^make (\w+) +\w", done.stdout, re.M)
    assert listed == re.search(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1].split()


def test_the_chapter_table_lists_the_chapters_in_order():
    rows = ROW.findall(README)
    assert [name for _, _, name, _, _ in rows] == sorted(CHAPTERS)
    assert all(name.startswith(number) for number, _, name, _, _ in rows)


@pytest.mark.parametrize("row", ROW.findall(README), ids=lambda row: row[2])
def test_the_chapter_table_has_each_chapters_minutes_and_question(row):
    _, _, name, minutes, question = row
    head = "\n".join(line.lstrip("# ") for line in re.split(r"\n# ## ", CHAPTERS[name])[0].splitlines())
    assert re.search(rf"\b{minutes}\b", re.search(r"\|\s*(?:Minutes|Time)\s*\|\s*([^|]*)\|", head)[1])
    assert f"**{question}**" in head


def test_the_readmes_picture_is_the_one_that_its_script_draws():
    script = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    for name, theme in script["THEMES"].items():
        assert (ROOT / "docs" / f"picture-{name}.svg").read_text(encoding="utf-8") == script["draw"](theme)
    assert f'alt="{script["ALT"]}"' in README


def test_the_pictures_of_who_imports_whom_are_what_the_code_does():
    """`make architecture` draws them again."""
    script = runpy.run_path(str(ROOT / "docs" / "architecture.py"))
    for package, name in script["PICTURES"].items():
        for theme, colours in script["THEMES"].items():
            drawn = (ROOT / "docs" / "architecture" / f"{name}-{theme}.svg").read_text(encoding="utf-8")
            assert drawn == script["draw"](package, colours), f"{package}: make architecture"


def test_the_page_of_sizes_has_every_room_and_lines_that_are_about_right():
    """`make architecture` writes it again; a twentieth more or less is let pass, so that not each change has to."""
    script = runpy.run_path(str(ROOT / "docs" / "sizes.py"))
    page = script["PAGE"].read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(.+?)` \| (\d*) \|", page, re.M))
    lines = {room: code for room, (code, _) in script["lines_of_rooms"]().items()}
    assert rows.keys() == lines.keys(), "make architecture"
    assert all(abs(int(rows[room] or 0) - code) <= 40 + code / 20 for room, code in lines.items()), "make architecture"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.name)
def test_the_files_that_a_paper_names_are_there(paper):
    tops = "course|grader|modelserver|simgpu|labs|notebooks|tests|docs|binder|benchmarks|deploy"
    for name, test in re.findall(rf"`((?:{tops})/[\w./]+)(?:::(\w+))?`", paper.read_text(encoding="utf-8")):
        assert (ROOT / name).exists() or "NN_" in name, name
        assert not test or f"def {test}(" in (ROOT / name).read_text(encoding="utf-8"), test


def test_papers_agree_on_version_and_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == course.__version__
    assert citation["license"] == project["license"] == "BSD-3-Clause"
    assert citation.get("repository-code") == project.get("urls", {}).get("Source")  # both lack until it is published
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License")
    assert "creativecommons.org/licenses/by/4.0" in (ROOT / "LICENSE-text").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_a_modules_examples_print_what_they_say(name):
    failed, _ = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
