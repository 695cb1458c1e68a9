"""The commands as a teacher types them, with real submissions; a kill in the middle, and going on from there."""

import csv
import os
import signal
import subprocess
import sys

import psutil
import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.sandbox import Sandbox, SandboxUnavailable
from tests.helpers.class_here import answers, hand_in
from tests.helpers.shells import eventually
from tests.helpers.small_lab import write_small_lab

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::sqlalchemy.exc.SAWarning")

GOOD, BAD = {}, {"double": "def double(values):\n    return 3 * values"}
NO_SANDBOX = "--unsafe-no-sandbox"


@pytest.fixture
def lab(course):
    (course.root / "source").mkdir()
    return write_small_lab(course.root / "source")


def command(*arguments):
    """Run the command in this process; return its exit status and all that it said."""
    found = CliRunner().invoke(main, [str(one) for one in arguments])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def marks(course):
    with course.marks.open(newline="") as file:
        return {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}


def test_a_class_from_its_release_to_its_files_for_the_platforms(course, lab, tmp_path):
    import zipfile

    (course.root / "roster.csv").write_text(
        "student,name,canvas_id\nada,Ada Lovelace,12\nbob,Bob Beer,13\neve,Eve,14\n"
    )
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as made:
        made.writestr("lovelaceada_12_1_small.ipynb", answers(lab, GOOD))
        made.writestr("beerbob_13_2_small.ipynb", answers(lab, BAD))
    root = course.root
    assert command("release", root, "--lab", "small") == (0, f"{root}/release/small/small.ipynb\n")
    status, said = command("import", root, tmp_path / "d.zip", "--lab", "small")
    assert (status, said.splitlines()[-1]) == (0, "2 imported, 0 not.")
    status, said = command("grade", root, "--lab", "small", "--no-gradebook", NO_SANDBOX)
    assert status == 0
    assert "3 students, 2 submissions marked now" in said
    found = marks(course)
    assert len(found) == 12
    assert float(found["ada", "double"]["score"]) == 3
    assert "double([1]) gave [3]; expected [2]." in found["bob", "double"]["reason"]
    assert all("WITHOUT a sandbox" in row["reason"] for row in found.values())
    assert command("feedback", root, "--lab", "small")[0] == 0
    assert "expected [2]" in course.feedback("bob", "small").read_text()
    status, said = command(
        "export", root, "--lab", "small", "--canvas", tmp_path / "c.csv", "--moodle", tmp_path / "m.csv"
    )
    assert status == 0
    assert "ada: no score yet (words: waits for a person's mark)." in said
    assert (tmp_path / "c.csv").read_text().splitlines()[4] == '"Eve","14","","","","0"'
    status, said = command("similarity", root, "--lab", "small")
    assert (status, said.splitlines()[1][6:14]) == (0, "ada  bob")  # theirs are the model answers, but for one
    assert command("difference", root, "--lab", "small") == (0, "No mark changed.\n")


@pytest.mark.parametrize("name", ["grader", "course.grading"])
def test_both_names_of_the_command_line_answer(name):
    done = subprocess.run([sys.executable, "-m", name, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "python -m grader [OPTIONS] COMMAND" in done.stdout and "selftest" in done.stdout
    assert ("course.grading is now grader" in done.stderr) == (name == "course.grading")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["grade", "{root}/absent", "--lab", "small"], "is not a folder"),
        (["grade", "{root}/source", "--lab", "small"], "is not a class's folder"),
        (["grade", "{root}", "--lab", "lab99"], "there is no lab 'lab99'"),
        (["grade", "{root}", "--lab", "small", "--student", "zoe", "--unsafe-no-sandbox"], "neither submitted/ nor"),
        (["import", "{root}", "{root}/absent.zip", "--lab", "small"], "there is no"),
        (["import", "{root}", "{root}/submitted", "--lab", "smal"], "there is no lab 'smal'"),
        (["import", "{root}", "{root}", "--lab", "small", "--arrived", "noon"], "'noon' is no time"),
        (["export", "{root}", "--lab", "small"], "say what to write"),
        (["difference", "{root}", "--lab", "small", "--since", "now"], "'now' is no time"),
    ],
)
def test_what_can_not_be_done_is_one_sentence(course, lab, arguments, says):
    hand_in(course, "ada", answers(lab))
    status, said = command(*(one.format(root=course.root) for one in arguments))
    assert status == 1
    assert said.startswith(("Error: ", "WARNING"))
    assert says in said
    assert "Traceback" not in said


def test_without_a_sandbox_nothing_is_marked_unless_asked(course, lab, monkeypatch):
    def none(self, program):
        raise SandboxUnavailable("bubblewrap is not installed. Run `apt-get install bubblewrap`.")

    monkeypatch.setattr(Sandbox, "run", none)
    hand_in(course, "ada", answers(lab))
    status, said = command("grade", course.root, "--lab", "small")
    assert status == 1
    assert "apt-get install bubblewrap" in said
    assert NO_SANDBOX in said
    assert not course.marks.exists()


@pytest.mark.long  # with nbgrader
def test_a_place_that_can_not_be_written_costs_only_itself(course, lab):
    hand_in(course, "ada", answers(lab))
    course.gradebook.write_bytes(b"no gradebook at all" * 100)
    (course.root / ".~lock.marks.csv#").touch()
    status, said = command("grade", course.root, "--lab", "small", NO_SANDBOX)
    assert status == 1
    assert "open in a spreadsheet program" in said
    assert "is no gradebook, or a broken one" in said
    (course.root / ".~lock.marks.csv#").unlink()
    status, said = command("grade", course.root, "--lab", "small", NO_SANDBOX)
    assert "0 submissions marked now" in said
    assert float(marks(course)["ada", "double"]["score"]) == 3
    course.gradebook.unlink()
    assert command("grade", course.root, "--lab", "small", NO_SANDBOX)[0] == 0
    assert course.autograded("ada", "small").exists()


@pytest.mark.long
def test_killed_in_the_middle_it_leaves_no_process_and_goes_on(course, lab):
    go_on = course.root / "go on"
    waits = f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.01)\nwords = 'why'"
    for number in range(12):  # the third and all after it are not done by themselves, however late the kill comes
        answer = f"words = '{number}'" if number < 2 else f"{waits} + '{number}'"
        hand_in(course, f"student{number:02}", answers(lab, {"words": answer}))
    arguments = ["grade", str(course.root), "--lab", "small", "--jobs", "2", "--no-gradebook", NO_SANDBOX]
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    results = course.records / "results" / "small"
    eventually(lambda: len(list(results.glob("*/*.json"))) >= 2, 90)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(list(results.glob("*/*.json")))
    assert 2 <= done < 12
    assert not course.marks.exists()
    go_on.touch()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    done = len(list(results.glob("*/*.json")))
    status, said = command(*arguments)
    assert status == 0
    assert f"12 students, {12 - done} submissions marked now" in said
    assert len(marks(course)) == 48


def test_in_a_real_sandbox_by_several_at_a_time(course, lab):
    try:
        Sandbox().run("pass")
    except SandboxUnavailable as reason:
        if os.environ.get("COURSE_MUST_HAVE_SANDBOX"):
            raise
        pytest.skip(f"NOT TESTED HERE, no sandbox can be made: {reason}")
    hand_in(course, "ada", answers(lab, GOOD))
    hand_in(course, "bob", answers(lab, {"double": "import os\nos._exit(0)"}))
    hand_in(course, "cyd", b"{")
    status, said = command("grade", course.root, "--lab", "small", "--jobs", "2", "--no-gradebook")
    assert status == 0, said
    found = {key: (row["state"], float(row["score"])) for key, row in marks(course).items()}
    assert found["ada", "double"] == ("graded", 3)
    assert found["bob", "double"] == ("crashed", 0)
    assert found["bob", "total"] == ("graded", 2)
    assert found["cyd", "total"] == ("unreadable", 0)
