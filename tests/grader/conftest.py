"""What the grader's tests share: an empty class, the small lab, and sandboxes that leave nothing on the machine."""

import time

import pytest

from grader.classroom.folders import open_course
from tests.helpers.sandboxes import outside
from tests.helpers.small_lab import write_small_lab


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The small lab, as `load_lab` gives it."""
    return write_small_lab(tmp_path_factory.mktemp("labs"))


@pytest.fixture
def course(tmp_path):
    """An empty class."""
    (tmp_path / "submitted").mkdir()
    return open_course(tmp_path)


@pytest.fixture
def nothing_left():
    """Fail when the test leaves a mount, a control group, a process of a sandbox's user or a file."""
    before = outside()
    yield
    deadline = time.monotonic() + 20
    while any(left := [now - then for now, then in zip(outside(), before, strict=True)]):
        assert time.monotonic() < deadline, f"left behind: {left}"
        time.sleep(0.05)
