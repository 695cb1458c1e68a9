"""nbgrader's settings in a class's folder: its autograder refuses before it touches anything."""

import logging
import os
import sys
from pathlib import Path

import pytest

from grader.classroom.folders import CourseFolder
from grader.reports.formgrader import write_config


def test_the_settings_are_written_once_and_a_teachers_own_are_left_alone(tmp_path):
    course = CourseFolder(tmp_path)
    assert write_config(course) and not write_config(course)
    (tmp_path / "nbgrader_config.py").write_text("mine")
    assert not write_config(course) and (tmp_path / "nbgrader_config.py").read_text() == "mine"


def test_the_former_name_of_the_refusal_is_brought_up_to_date(tmp_path):
    course, path = CourseFolder(tmp_path), tmp_path / "nbgrader_config.py"
    write_config(course)
    now = path.read_bytes()
    path.write_bytes(now.replace(b"grader.reports.no_autograder", b"course.grading.no_autograder") + b"# \xe9\n")
    assert not write_config(course) and path.read_bytes() == now + b"# \xe9\n"


@pytest.mark.long  # with nbgrader
def test_nbgraders_autograder_refuses_and_leaves_the_safe_notebook_as_it_is(tmp_path, monkeypatch):
    converters = pytest.importorskip("nbgrader.converters")
    from nbgrader.api import Gradebook
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    # a new gradebook shells out to alembic
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    write_config(CourseFolder(tmp_path))
    for folder, text in (("submitted", "handed in"), ("autograded", "safe")):
        (tmp_path / folder / "ada" / "small").mkdir(parents=True)
        (tmp_path / folder / "ada" / "small" / "small.ipynb").write_text(text)
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as book:
        book.add_assignment("small")
        book.add_student("ada")
    config = Config()
    exec((tmp_path / "nbgrader_config.py").read_text(), {"get_config": lambda: config})
    config.CourseDirectory.root = str(tmp_path)
    config.CourseDirectory.assignment_id, config.CourseDirectory.student_id = "small", "ada"
    grader = converters.Autograde(coursedir=CourseDirectory(config=config), config=config)
    grader.log = logging.getLogger("test")
    with pytest.raises(RuntimeError, match="Nothing was run.*python -m grader grade"):
        grader.start()
    assert (tmp_path / "autograded" / "ada" / "small" / "small.ipynb").read_text() == "safe"
