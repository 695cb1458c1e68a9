"""Files that are written whole or not at all, and lines that are only ever added."""

import os

import pytest

from grader.classroom import atomic
from grader.classroom.folders import ClassError


def test_what_is_written_is_there_with_its_rights_and_nothing_beside_it(tmp_path):
    path = tmp_path / "new" / "folder" / "file.txt"
    atomic.write(path, "größer")
    assert path.read_bytes() == "größer".encode() and path.stat().st_mode & 0o777 == 0o644
    atomic.write(str(path), b"\x00\xff", 0o600)
    assert path.read_bytes() == b"\x00\xff" and path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["file.txt"]


def test_a_write_that_fails_leaves_what_was_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    atomic.write(path, "before")

    def cut(*_):
        raise KeyboardInterrupt

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, call, cut)
            atomic.write(path, "after")
        assert path.read_text() == "before" and os.listdir(tmp_path) == ["file"]


def test_a_long_name_leaves_room_for_that_of_the_unfinished_file(tmp_path):
    atomic.write(tmp_path / ("n" * 250), "x")
    assert os.listdir(tmp_path) == ["n" * 250]


def test_json_is_ascii_for_its_owner_and_comes_back_and_torn_or_absent_is_none(tmp_path):
    path = tmp_path / "a.json"
    assert atomic.read_json(path) is None
    atomic.write_json(path, {"name": "Ärger", "list": [1, None]})
    assert path.read_text().isascii() and path.read_text().split("\n")[1][:7] == ' "name"'
    assert path.read_text().endswith("\n}\n")
    assert path.stat().st_mode & 0o777 == 0o600 and atomic.read_json(path) == {"name": "Ärger", "list": [1, None]}
    path.write_bytes(path.read_bytes()[:-4])
    assert atomic.read_json(path) is None


@pytest.mark.parametrize("torn", [b"", b'{"a": 1}\n', b'{"a": 1}\n{"b":', b'{"b":', b"\n"])
def test_lines_are_added_after_whatever_is_there_and_a_torn_one_is_skipped(tmp_path, torn):
    path = tmp_path / "below" / "lines.jsonl"
    assert list(atomic.read_lines(path)) == []
    atomic.append_lines(path, [])
    assert not path.parent.exists()
    if torn:
        path.parent.mkdir()
        path.write_bytes(torn)
    whole = [{"a": 1}] if torn.startswith(b'{"a": 1}') else []
    atomic.append_lines(path, [{"c": 3}, {"d": 4}])
    atomic.append_lines(path, [{"e": 5}])
    assert list(atomic.read_lines(path)) == [*whole, {"c": 3}, {"d": 4}, {"e": 5}]
    assert path.read_bytes().endswith(b'{"c": 3}\n{"d": 4}\n{"e": 5}\n')
    assert path.read_bytes().startswith(torn) and b"\n\n" not in path.read_bytes()


def test_who_holds_the_class_is_told_and_a_holder_that_died_without_a_word_is_unknown(course):
    with atomic.alone(course.records):
        assert course.records.stat().st_mode & 0o777 == 0o700
        assert (course.records / "lock").read_text() == str(os.getpid())
        (course.records / "lock").write_text("")
        with pytest.raises(ClassError, match=rf"at work on {course.root} \(process unknown\)"):
            with atomic.alone(course.records):
                pass
    (course.records / "lock").write_text("123456789123456789")  # of one that ended
    with atomic.alone(course.records):
        assert (course.records / "lock").read_text() == str(os.getpid())
