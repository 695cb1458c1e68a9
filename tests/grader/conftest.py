"""What the grader's tests share: an empty class, the small lab, and sandboxes that leave nothing on the machine."""

import pytest

from grader.classroom.folders import open_course
from tests.grader.forked_sandbox import ForkServer
from tests.helpers.sandboxes import left_since, outside
from tests.helpers.small_lab import write_small_lab


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The small lab, as `load_lab` gives it."""
    return write_small_lab(tmp_path_factory.mktemp("labs"))


@pytest.fixture(scope="module")
def box():
    """A sandbox that keeps nothing in: each is a fork of one process that has imported numpy and IPython."""
    with ForkServer(("numpy", "IPython.core.interactiveshell")) as server:
        yield server.sandbox


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
    left = left_since(before)
    assert not left, f"left behind: {left}"
