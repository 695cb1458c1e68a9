"""What a submission sees of `course`: what its lab allows, nothing that it asks for, a `check` that does nothing."""

import subprocess
import sys

import pytest

from grader.submission.visible_course import ROOT, visible_files

LIFE = ("course.life", "course.life.board", "course.life.rule", "course.life.files")


def run(files, text, folder):
    """Run `text` in a Python whose only `course` is these files; return what it prints, or its last line of error."""
    for path, content in files.items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    packages = [path for path in sys.path if path.endswith("site-packages")]
    start = "import os; os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'\n"  # as in the sandbox
    start += f"import sys; sys.path[:] = [{str(folder) + ROOT!r}, *sys.path, *{packages!r}]\n"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", start + text], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_without_modules_there_is_only_a_check_that_does_nothing(tmp_path):
    files = visible_files(())
    assert sorted(files) == [f"{ROOT}/course/{name}.py" for name in ("__init__", "checks/__init__", "signals")]
    assert (
        run(files, "from course import check\nassert check(print)\nprint(check(3, 'x'))", tmp_path)
        == "not checked here"
    )


@pytest.mark.parametrize("use", ["life.step(1)", "step(1)", "course.life.op.step(1)", "estimate_pi(1)"])
def test_what_is_not_allowed_can_be_imported_and_says_so_when_it_is_used(tmp_path, use):
    lines = "import course.life.op\nfrom course import check, estimate_pi, life\nfrom course.life import step\n"
    tried = f"{lines}\ntry:\n    {use}\nexcept NotImplementedError as error:\n    print(error)\n"
    said = run(visible_files(()), tried, tmp_path)
    assert said.startswith("course.") and said.endswith("an answer can't build on it.")


def test_pictures_that_are_not_there_do_nothing(tmp_path):
    text = """
from course import draw
from course.widgets import LifePlayer
with draw.figure() as (figure, axes):
    axes.plot([1, 2])
    axes.set_title("a").lower()
for _ in LifePlayer():
    pass
draw.picture(figure, "alt")
print("went on")
"""
    assert run(visible_files(()), text, tmp_path) == "went on"


@pytest.mark.long
def test_what_is_allowed_works_and_what_is_asked_for_says_why_it_does_not(tmp_path):
    files = visible_files(LIFE, ("course.life.files.read_pattern",))
    assert not any(name.endswith(("op.py", "reference.py", "run.py", "packed.py")) for name in files)
    text = "from course import life\nprint(life.to_text(life.put(life.empty(2, 2), life.from_text('O'))).split())"
    assert run(files, text, tmp_path) == "['O.', '..']"
    calls = """
from course import life
for asked in (life.step, life.read_pattern, life.files.read_pattern, life.reference_step):
    try:
        asked(1)
    except NotImplementedError as error:
        print(error)
"""
    said = run(files, calls, tmp_path).splitlines()
    assert len(said) == 4
    assert said[0] == "course.life.op.step is not there when a lab is marked: it may be what an exercise asks for."


def test_the_text_of_what_is_masked_is_nowhere():
    shown = b"".join(visible_files(LIFE, ("course.life.files.read_pattern", "course.life.rule.Rule.parse")).values())
    assert b"def read_pattern" not in shown
    assert b"def parse" not in shown
    assert b"convolve2d" not in shown


def test_a_name_can_be_masked_where_it_is_handed_on():
    (masked,) = [
        text for path, text in visible_files(LIFE, ("course.life.put",)).items() if path.endswith("life/__init__.py")
    ]
    assert b"put = _not_here('course.life.board.put')" in masked


def test_data_of_a_folder_comes_only_when_it_is_named():
    assert not [path for path in visible_files(LIFE) if "/patterns/" in path]
    assert [path for path in visible_files((*LIFE, "course/life/patterns/")) if "/patterns/" in path]


@pytest.mark.parametrize(
    ("modules", "masked", "says"),
    [
        (("course.lief",), (), "no such module"),
        (("os",), (), "no such module"),
        (("course/nothing/",), (), "no such folder"),
        (("course/../tests/",), (), "no such folder"),
        (LIFE, ("course.life.files.reed_pattern",), "no allowed module has these names"),
        (LIFE, ("course.life.op.step",), "no allowed module has these names"),
    ],
)
def test_a_list_that_misses_is_refused(modules, masked, says):
    with pytest.raises(ValueError, match=says):
        visible_files(modules, masked)
