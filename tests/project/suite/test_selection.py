"""What `make test` leaves out is what the files say, and every test runs in one of the two commands."""

import ast
import re
import tomllib

import pytest

from tests.selection import LONG, ROOMS, ROOT, SHORT, is_left_out, is_long_file, left_out


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("import moto\n\npytestmark = pytest.mark.long\n", False, True),
        ("pytestmark = [pytest.mark.browser, pytest.mark.long]\n", False, True),
        ("pytestmark = [\n    pytest.mark.browser,\n    pytest.mark.long,\n]\n", False, True),
        ("pytestmark = pytest.mark.browser\n\n\n@pytest.mark.long\ndef test_a(): ...\n", True, True),
        ("def test_a(): ...\n", True, False),
    ],
)
def test_a_file_runs_where_it_says(tmp_path, text, short, long):
    path = tmp_path / "test_it.py"
    path.write_text(text)
    assert (not is_left_out(path, SHORT), not is_left_out(path, LONG)) == (short, long)
    assert not is_left_out(path, "")


def test_a_file_of_the_slow_folder_is_long_without_a_mark():
    assert all(map(is_long_file, (ROOT / "tests" / "slow").rglob("test_*.py")))


def test_each_command_says_what_it_leaves_out_and_any_other_run_says_nothing():
    assert "whole files" in left_out(SHORT) and "make long" in left_out(SHORT)
    assert "make test" in left_out(LONG) and left_out("browser") == ""


def test_only_long_files_import_what_make_long_installs():
    """So that collecting the others needs no more than `make test` has."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    of_long = {re.split(r"[>\[]", needed)[0].replace("-", "_") for needed in extras["long"] + extras["clouds"]}
    of_long |= {"azure", "kubernetes", "kr8s", "boto3", "botocore"}  # what those bring, or are called inside
    imports = {
        f"{path.relative_to(ROOT)}: {name}"
        for room in ROOMS
        for path in (ROOT / room).rglob("test_*.py")
        if not is_long_file(path)
        for name in imported_at_once(path)
    }
    assert {line for line in imports if line.split(": ")[1].split(".")[0] in of_long} == set()


def imported_at_once(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module
