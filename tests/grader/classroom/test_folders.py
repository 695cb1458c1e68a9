"""A class's folder: which names are students, where labs lie, and a secret that nobody else reads."""

import os

import pytest

from grader.classroom.folders import (
    LONGEST,
    ClassError,
    class_secret,
    find_lab,
    open_course,
    refuse_links,
    shown,
    students_of,
)
from grader.classroom.folders import not_a_student as why_not


def test_each_thing_has_its_place_below_the_class(course):
    root = course.root
    assert course.submitted("ada", "small") == root / "submitted" / "ada" / "small"
    assert course.autograded("ada", "small") == root / "autograded" / "ada" / "small" / "small.ipynb"
    assert course.feedback("ada", "small") == root / "feedback" / "ada" / "small" / "small.html"
    assert (course.release("small"), course.source("small")) == (root / "release" / "small", root / "source" / "small")
    assert (course.records, course.gradebook, course.marks) == (
        root / "grading",
        root / "gradebook.db",
        root / "marks.csv",
    )


@pytest.mark.parametrize("sign", ["submitted", "source", "release", "class.toml", "roster.csv", "gradebook.db"])
def test_any_one_sign_makes_a_folder_a_class(tmp_path, sign):
    (tmp_path / sign).mkdir()
    assert open_course(str(tmp_path)).root == tmp_path.resolve()
    (tmp_path / sign).rmdir()
    with pytest.raises(ClassError, match="neither submitted/ nor class.toml"):
        open_course(tmp_path)
    with pytest.raises(ClassError, match="is not a folder"):
        open_course(tmp_path / "absent")


def test_students_are_folders_with_legal_names_and_what_is_odd_is_told(course):
    place = course.root / "submitted"
    for name in ("bob", "ada", ".hidden", "eve "):
        (place / name).mkdir()
    (place / "list.csv").touch()
    (place / "link").symlink_to(place / "ada")
    students, odd = students_of(course)
    assert students == ["ada", "bob"]
    assert odd == {
        "eve ": "it begins or ends with a space",
        "link": "it is a symbolic link, which is not followed",
    }
    place.rename(course.root / "elsewhere")
    assert students_of(course) == ([], {})


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "not with a dot"),
        (".", "not with a dot"),
        ("..", "not with a dot"),
        (".ada", "not with a dot"),
        ("a" * (LONGEST + 1), f"it has {LONGEST + 1} characters; {LONGEST} is the most"),
        ("a/b", "a path in it"),
        ("a\\b", "a path in it"),
        ("a\0b", "a path in it"),
        ("a\nb", "can't be seen"),
        ("a\u200bb", "can't be seen"),
        ("a\u2028b", "can't be seen"),
        ("a\u2029b", "can't be seen"),
        ("a\udce4b", "can't be seen"),
        (" ada", "a space"),
    ],
)
def test_a_name_that_is_no_student_s_is_told_why(name, why):
    assert why in why_not(name)


@pytest.mark.parametrize("name", ["a", "ada", "a" * LONGEST, "Ada Lovelace", "ada@x.org", "阿达", "a.b"])
def test_other_names_are_students(name):
    assert why_not(name) is None


@pytest.mark.long  # with nbgrader
def test_an_id_may_be_as_long_as_nbgraders_column_for_it():
    from nbgrader.api import Student

    assert LONGEST == Student.__table__.c.id.type.length


def test_a_name_is_shown_without_what_a_terminal_obeys_and_never_longer_than_the_longest():
    assert shown("ada") == "ada" and shown("a\x1bb\u202ec") == "a\\x1bb\\x202ec"
    assert shown("a" * LONGEST) == "a" * LONGEST
    assert shown("a" * LONGEST + "b") == "a" * (LONGEST - 1) + "…"


@pytest.mark.parametrize("linked", ["student", "student/lab", "student/lab/lab.ipynb"])
def test_a_link_in_the_way_to_a_notebook_is_refused(tmp_path, linked):
    path = tmp_path / "student" / "lab" / "lab.ipynb"
    path.parent.mkdir(parents=True)
    path.touch()
    refuse_links(path)
    place, aside = tmp_path / linked, tmp_path / "aside"
    place.rename(aside)
    place.symlink_to(aside)
    with pytest.raises(ClassError, match="is a symbolic link"):
        refuse_links(path)


@pytest.mark.parametrize("name", ["lab99_none", "../labs/lab03_game_of_life", "", ".", "a/b"])
def test_a_lab_that_is_not_there_is_told_and_no_path_is_followed(course, name):
    with pytest.raises(ClassError, match="there is no lab|a lab is the name of its folder"):
        find_lab(course, name)


def test_a_lab_in_the_class_s_own_folder_goes_first_and_those_there_are_named(course, tmp_path):
    private, lab = tmp_path / "private", "lab03_game_of_life"
    assert find_lab(course, lab).is_dir()
    for place in (private / "mine", private / lab, course.root / "source" / lab):
        place.mkdir(parents=True)
        (place / "lab.py").touch()
        assert find_lab(course, place.name, str(private)) == place
    (private / "no_lab").mkdir()
    with pytest.raises(ClassError, match="There are: .*lab03_game_of_life.*, mine. Labs elsewhere") as caught:
        find_lab(course, "no_lab", str(private))
    assert "no_lab, " not in str(caught.value)


def test_the_secret_is_made_once_for_its_owner_alone_and_never_guessed(course):
    secret = class_secret(course)
    path = course.records / "secret"
    assert len(secret) == 32 and class_secret(course) == secret
    assert path.stat().st_mode & 0o777 == 0o600 and course.records.stat().st_mode & 0o777 == 0o700
    for mode in (0o640, 0o604, 0o610):
        path.chmod(mode)
        with pytest.raises(ClassError, match="can be read by others"):
            class_secret(course)
    path.chmod(0o600)
    for wrong in (b"", secret[:31], secret + b"x"):
        path.write_bytes(wrong)
        with pytest.raises(ClassError, match=f"holds {len(wrong)} bytes where 32 are due"):
            class_secret(course)
    os.rename(path, course.records / "elsewhere")
    (course.records / "elsewhere").write_bytes(secret)
    path.symlink_to(course.records / "elsewhere")
    with pytest.raises(ClassError, match="can be read by others"):
        class_secret(course)
