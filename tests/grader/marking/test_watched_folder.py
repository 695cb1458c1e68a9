"""What a crash could have left of a folder, made out from outside by what is there and what the kernel tells."""

import mmap
import os
import sys

import pytest

from grader.marking import watched_folder
from grader.marking.watched_folder import TooMuch, WatchedFolder

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="marks are made on Linux")


def write(path, text, how="w"):
    with open(path, how) as file:
        file.write(text)


def over(path, text):
    with open(path, "r+") as file:
        file.truncate()
        file.write(text)


def by_map(path, text):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as there:
        there[:] = text.encode()


def beside(path, text):
    write(f"{path}.part", text)
    os.replace(f"{path}.part", path)


def removed_first(path, text):
    write(f"{path}.part", text)
    os.remove(path)
    os.rename(f"{path}.part", path)


def in_a_folder(path, text):
    os.mkdir(f"{path}.new")
    write(f"{path}.new/b", text)
    write(f"{path}.new/a", "!")
    os.rename(f"{path}.new", f"{path}.4")


OLD = {"c": b"12345678"}
PART = [OLD | {"c.part": cut} for cut in (b"", b"1234", b"12349999")]
WAYS = {
    "over it": (over, "12349999", [{"c": b"12349978"}]),
    "over it, longer": (over, "12349999!", [{"c": b""}, {"c": b"12349998"}]),
    "over it through a map": (by_map, "12349999", [{"c": b"12349978"}]),
    "behind it": (lambda path, text: write(path, text, "a"), "abcd", [{"c": b"12345678ab"}]),
    "beside it": (beside, "12349999", PART),
    "beside it, once it is gone": (removed_first, "12349999", [*PART, {"c.part": b"12349999"}]),
    "a link": (lambda path, text: os.link(path, f"{path}.2"), "", [OLD]),
    "nothing": (lambda path, text: None, "", []),
    "in a folder": (
        in_a_folder,
        "xy",
        [
            OLD | {"c.new": None} | files
            for files in ({}, *({"c.new/b": b} for b in (b"", b"x", b"xy")), {"c.new/b": b"xy", "c.new/a": b""})
        ]
        + [OLD | {"c.new": None, "c.new/b": b"xy", "c.new/a": b"!"}],
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_crash_could_have_left_is_seen_from_outside(tmp_path, way):
    change, text, wanted = WAYS[way]
    path = tmp_path / "c"
    write(path, "12345678")
    with WatchedFolder(str(tmp_path)) as watched:
        change(str(path), text)
        moments = [{path: entry.data for path, entry in moment.items()} for moment in watched.look()]
        assert [sorted(one.items()) for one in moments] == [sorted(one.items()) for one in wanted]
        assert watched.look() == []


def test_no_link_pipe_or_endless_file_is_followed(tmp_path, monkeypatch):
    os.symlink("/etc/passwd", tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with WatchedFolder(str(tmp_path)) as watched:
        assert {path: entry.data for path, entry in watched.entries.items()} == {"link": "/etc/passwd"}
        monkeypatch.setattr(watched_folder, "BYTES", 100)
        write(tmp_path / "large", "x" * 101)
        with pytest.raises(TooMuch, match="more than 100 bytes"):
            watched.look()
    with pytest.raises(OSError, match=r"[Nn]ot a directory|[Tt]oo many"):
        WatchedFolder(str(tmp_path / "link"))
