"""The house is easy to find one's way in: no crowded folder, no long file, no name that says nothing."""

from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("course", "grader", "modelserver", "simgpu")
FILES = [path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
FILES = [path for path in FILES if path.parts[:2] != ("modelserver", "tests")]
SAYS_NOTHING = {"utils", "util", "helpers", "common", "misc", "tools", "base_utils"}


@pytest.mark.parametrize("top", [*PACKAGES, "labs", "tests", "benchmarks"])
def test_no_folder_has_more_than_fifteen_files(top):
    files = (path.relative_to(ROOT) for path in (ROOT / top).rglob("*.py"))
    rooms = Counter(path.parent for path in files if path.name != "__init__.py")
    assert {str(room): count for room, count in rooms.items() if count > 15} == {}


def test_no_file_has_more_than_three_hundred_lines():
    lengths = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {path: length for path, length in lengths.items() if length > 300 and "tests" not in Path(path).parts} == {}


def test_a_files_name_is_its_idea():
    assert [str(path) for path in FILES if path.stem in SAYS_NOTHING] == []


def test_no_name_stands_in_more_than_two_rooms():
    names = Counter(path.name for path in FILES if not path.stem.startswith("__"))
    assert {name: count for name, count in names.items() if count > 2} == {}
