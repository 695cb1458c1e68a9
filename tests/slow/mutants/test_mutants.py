"""The planting of bugs: which there are, and that a bug that no test sees survives."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow.mutants.mutations import mutations_of
from tests.slow.mutants.rooms import ROOMS

ROOT = Path(__file__).resolve().parents[3]
CODE = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def least(one: int | None = None, other: "int | str" = 3) -> int | None:
    seen: int | None = 5
    return one if one < other else seen
"""
CONFTEST = """\
from hypothesis import settings

settings.register_profile("same verdict, found sooner")
"""
LARGER = "def larger(one, other):\n    return one if one > other else other\n"
PROGRAM = """\
from pathlib import Path
from tests.slow.mutants import trials
from tests.slow.mutants.mutations import mutations_of
from tests.slow.mutants.rooms import Room

trials.LIBRARIES = ()
with trials.Trials(Path({root!r}), Room("course", ("tests",))) as running:
    first = running.without_a_bug()
    print(first.state, first.by)
    for mutation in mutations_of(Path({root!r}), "course/small.py"):
        print(mutation.operator, running.with_bug(mutation).state)
"""


def test_a_bug_is_one_change_in_one_line_and_never_in_a_type(tmp_path):
    (tmp_path / "code.py").write_text(CODE)
    found = list(mutations_of(tmp_path, "code.py"))
    told = [mutation.told(CODE).splitlines() for mutation in found]
    assert {len(lines) for lines in told} == {3}
    assert [lines[2].strip("+ ") for lines in told] == [
        "return one if one <= other else seen",
        "return one if not one < other else seen",
        'def least(one: int | None = None, other: "int | str" = 4) -> int | None:',
        'def least(one: int | None = None, other: "int | str" = 2) -> int | None:',
        "seen: int | None = 6",
        "seen: int | None = 4",
    ]
    with pytest.raises(ValueError, match="there is no such place any more"):
        found[0].plant("nothing = here")


def test_a_handler_of_a_plain_name_is_a_place_for_a_bug_and_one_of_a_dotted_name_is_none(tmp_path):
    handlers = "(OSError, ValueError)", "json.Other", "KeyError"
    code = "try:\n    f()\n" + "".join(f"except {one}:\n    g()\n" for one in handlers)
    (tmp_path / "code.py").write_text(code)
    found = [mutation.told(code).splitlines()[2] for mutation in mutations_of(tmp_path, "code.py")]
    assert found == [
        "+ except (CosmicRayTestingException, ValueError):",
        "+ except (OSError, CosmicRayTestingException):",
        "+ except CosmicRayTestingException:",
    ]


def test_what_no_test_can_see_is_no_place_for_a_bug(tmp_path):
    code = (
        "LIMIT = 60.0\nPAUSE = 0.5\nMOST = 60\n\n\n@dataclass(frozen=True)\nclass One:\n    f(strict=True, deep=True)\n"
    )
    (tmp_path / "code.py").write_text(code)
    found = [mutation.told(code).splitlines()[2].strip("+ ") for mutation in mutations_of(tmp_path, "code.py")]
    assert found == ["f(strict=True, deep=False)", "PAUSE = 1.5", "PAUSE = -0.5", "MOST = 61", "MOST = 59"]


def test_a_bug_in_a_script_is_in_its_code_and_not_in_its_words(tmp_path):
    code = '// 3 < 4\nconst most = (a, b) => (a > b && !b ? a : `${b / 2} + 1`); // 5\nif (true) say("1 + 1", 7, 20);\n'
    (tmp_path / "page.js").write_text(code)
    found = list(mutations_of(tmp_path, "page.js"))
    changed = {mutation.operator: mutation.told(code).splitlines()[-1].strip("+ ") for mutation in found}
    assert [mutation.line for mutation in found] == [2, 2, 2, 2, 3, 3, 2, 3, 3] and changed == {
        "more": "const most = (a, b) => (a >= b && !b ? a : `${b / 2} + 1`); // 5",
        "and": "const most = (a, b) => (a > b || !b ? a : `${b / 2} + 1`); // 5",
        "not": "const most = (a, b) => (a > b && b ? a : `${b / 2} + 1`); // 5",
        "over": "const most = (a, b) => (a > b && !b ? a : `${b * 2} + 1`); // 5",
        "never": 'if (false && true) say("1 + 1", 7, 20);',
        "true": 'if (false) say("1 + 1", 7, 20);',
        "number": 'if (true) say("1 + 1", 7, 40);',
    }


def test_every_room_has_files_and_tests():
    for room in ROOMS.values():
        tests = [path.removeprefix("--deselect=").partition("::")[0] for path in room.tests]
        assert room.files(ROOT) and all((ROOT / path).exists() for path in tests)


def test_a_bug_that_a_test_sees_is_killed_one_that_none_sees_survives_and_the_code_stays_as_it_is(tmp_path):
    for name, text in {
        "course/__init__.py": "",
        "course/small.py": LARGER,
        "tests/conftest.py": CONFTEST,
        "tests/test_small.py": "from course.small import larger\n\n\ndef test_it():\n    assert larger(2, 3) == 3\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    program = PROGRAM.format(root=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=-1, text=True, timeout=240, check=True)
    assert done.stdout.split("\n")[:-1] == [
        "survived ",
        "ReplaceComparisonOperator_Gt_GtE survived",  # of two that are equal either will do
        "AddNot killed",
    ]
    assert (tmp_path / "course/small.py").read_text() == LARGER
