"""A class in whose folders anything lies, graded by the command: each gets its state, and nothing else is touched."""

import csv
import os
import subprocess
import sys

import pytest

from tests.helpers.sandboxes import need_sandboxes, outside
from tests.helpers.submissions import LIFE, Notebook, lab_called
from tests.slow.attacks.host_watch import complaints, decoys

need_sandboxes()


def solved():
    """A solved lab, less the exercise that is timed."""
    names = [exercise.name for exercise in lab_called(LIFE).exercises if exercise.name != "fast_step"]
    return Notebook(lab_called(LIFE)).solve(*names)


def hand_in(root, student, data, name=f"{LIFE}.ipynb"):
    folder = root / "submitted" / student / LIFE
    folder.mkdir(parents=True)
    if data is not None:
        (folder / name).write_bytes(data)
    return folder / name


#: student -> (states of all but `fast_step`, points)
WANTED = {
    "ada": ("graded", 16.0),
    "bob": ("unreadable", 0.0),
    "cyd": ("unreadable", 0.0),
    "dan": ("refused", 0.0),
    "eve": ("refused", 0.0),
    "fay": ("refused", 0.0),
    "gus": ("refused", 0.0),
    "hal": ("missing", 0.0),
    "ivy": ("graded", 16.0),
    "jon": ("refused", 0.0),
    "kim": ("missing", 0.0),
    "=cmd|' /C calc'!A1": ("graded", 16.0),
    "$(touch sandbox-was-here)": ("missing", 0.0),
    "<script>alert(1)": ("refused", 0.0),
}


def everybody_hands_in(root, host):
    good = solved().bytes()
    hand_in(root, "ada", good)
    hand_in(root, "bob", b"")
    hand_in(root, "cyd", b'{"cells": [')
    hand_in(root, "dan", None).symlink_to(host.others)  # another's work
    os.mkfifo(hand_in(root, "eve", None))
    with hand_in(root, "fay", b"").open("r+b") as file:
        file.truncate(100_000_000)
    hand_in(root, "gus", None).mkdir()  # a folder by a notebook's name
    hand_in(root, "hal", b"import os", name="answers.py")
    hand_in(root, "ivy", good, name=f"{LIFE} (1).ipynb")
    (root / "submitted" / "jon").mkdir()
    (root / "submitted" / "jon" / LIFE).symlink_to(root / "submitted" / "ada" / LIFE)
    (root / "submitted" / "kim" / LIFE).mkdir(parents=True)
    hand_in(root, "=cmd|' /C calc'!A1".replace("/", "\N{FRACTION SLASH}"), good)
    hand_in(root, "$(touch sandbox-was-here)", Notebook(lab_called(LIFE)).bytes())
    hand_in(root, "<script>alert(1)", None).symlink_to("/dev/zero")


def grade(root, *more):
    command = [sys.executable, "-m", "grader", "grade", str(root), "--lab", LIFE, "--jobs", "1", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def rows_of(root):
    with (root / "marks.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.timeout(400)  # on a machine with much else to do
def test_each_gets_a_state_of_its_own_and_nothing_else_is_touched(tmp_path):
    root = tmp_path / "graded"
    (root / "submitted").mkdir(parents=True)
    with decoys(tmp_path / "decoys") as host:
        everybody_hands_in(root, host)
        before = outside()
        done = grade(root, "--marks", str(root / "marks.csv"))
        assert not complaints(host, before)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    found, points = {}, {}
    for row in rows_of(root):
        student = row["student"].lstrip("'").replace("\N{FRACTION SLASH}", "/")
        points[student] = points.get(student, 0) + float(row["score"])
        if row["exercise"] != "fast_step":
            found.setdefault(student, set()).add(row["state"])
    assert {student: (*states, points[student]) for student, states in found.items()} == WANTED
    again = grade(root, "--marks", str(root / "again.csv"), "--no-gradebook")
    assert (root / "again.csv").read_bytes() == (root / "marks.csv").read_bytes(), again.stderr
    secret = root / "grading" / "secret"
    assert secret.stat().st_mode & 0o077 == 0
    assert b"OWNED" not in (root / "marks.csv").read_bytes()
    assert not list(tmp_path.rglob("sandbox-was-here*"))


def test_a_sandbox_sees_no_path_of_the_class(tmp_path):
    root = tmp_path / "graded"
    (root / "submitted").mkdir(parents=True)
    paths = [str(root), str(tmp_path), str(tmp_path.parent), "/tmp/pytest-of-root", "/submitted", "/grading"]
    notebook = Notebook(lab_called(LIFE)).answer(
        "next_generation",
        f"def next_generation(board):\n    import os\n"
        f"    raise LookupError([path for path in {paths!r} if os.path.exists(path)])",
    )
    hand_in(root, "ada", notebook.bytes())
    grade(root, "--marks", str(root / "marks.csv"), "--no-gradebook")
    (row,) = [row for row in rows_of(root) if row["exercise"] == "next_generation"]
    assert "LookupError: []" in row["reason"]
