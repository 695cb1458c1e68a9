"""The doctor's lines: what is there, what is missing, and what to do about it."""

import pytest

from grader import doctor
from grader.doctor import diagnose
from grader.sandbox import Ended
from tests.helpers.sandboxes import need_sandboxes

need_sandboxes()


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "class"
    (folder / "submitted").mkdir(parents=True)
    folder.chmod(0o755)
    for name in ("gradebook.db", "grading_secret"):
        (folder / name).write_text("")
        (folder / name).chmod(0o600)
    return folder


def lines(course=None):
    return [str(finding) for finding in diagnose(course)]


def line(start, course=None):
    return next(text for text in lines(course) if start in text)


def test_on_a_machine_that_can_grade_nothing_is_missing(course):
    found = list(diagnose(course))
    assert not [str(finding) for finding in found if finding.state == "missing" and "alembic" not in finding.text]
    assert len(found) >= 10 and all("\n" not in finding.text for finding in found)


def test_a_missing_program_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda *_, **__: None)
    assert line("bubblewrap").startswith("✕") and "apt-get install bubblewrap" in line("bubblewrap")


def test_a_bubblewrap_that_is_too_old_is_told(monkeypatch, tmp_path):
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho bubblewrap 0.6.1\n")
    old.chmod(0o755)
    which = doctor.shutil.which
    monkeypatch.setattr(
        doctor.shutil, "which", lambda name, **more: str(old) if name == "bwrap" else which(name, **more)
    )
    assert "0.8 is the oldest" in line("0.6.1")


@pytest.mark.parametrize(
    ("printed", "symptom", "says"),
    [
        ("CapEff network\n", "is open", "CapEff network"),
        ("no numpy: PermissionError()\nclosed\n", "can't be read", "umask 022"),
    ],
)
def test_a_sandbox_that_is_open_or_sees_no_packages_is_not_called_closed(monkeypatch, printed, symptom, says):
    ended = Ended(None, 0, printed, "", 0.1, 0.1, 0)
    monkeypatch.setattr(doctor.Sandbox, "run", lambda *_: ended)
    assert line(symptom).startswith("✕") and says in line(symptom)


def test_a_machine_without_a_filter_is_told(monkeypatch):
    monkeypatch.setattr(doctor.Path, "exists", lambda _: False)
    assert line("filter of system calls").startswith("✕")


def test_elsewhere_the_container_way_is_said(monkeypatch):
    monkeypatch.setattr(doctor.sys, "platform", "darwin")
    assert len(lines()) == 1 and "container" in lines()[0]


def test_short_memory_and_a_full_disk_are_told(monkeypatch):
    monkeypatch.setattr(doctor, "MEMORY", 2**60)
    monkeypatch.setattr(doctor, "DISK", 2**60)
    assert line("memory is short").startswith("!") and line("disk of").startswith("✕")


def test_a_gradebook_or_secret_that_others_may_read_or_that_is_broken_is_told(course):
    (course / "grading_secret").chmod(0o644)
    assert line("grading_secret", course).startswith("✕") and "chmod go-rwx" in line("grading_secret", course)
    course.chmod(0o777)
    assert "chmod go-w" in line("others may write", course)
    (course / "gradebook.db").write_text("marks")
    assert "✕" in line("broken (file is not a database)", course)
    (course / "gradebook.db").unlink()
    (course / "gradebook.db").symlink_to("/etc/passwd")
    assert "is a link" in line("gradebook.db", course)


@pytest.mark.long  # with nbgrader
def test_a_course_folder_that_is_none_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    assert "not a folder" in line("file", tmp_path / "file")
    assert "no submitted/" in line("submitted", tmp_path)
