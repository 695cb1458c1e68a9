"""Honest work, written and saved as people do: it loses not a point. A part of it here; `make attacks` runs all."""

import pytest

from tests.helpers.sandboxes import need_sandboxes
from tests.slow.attacks.table import marked
from tests.slow.honest.catalogue import HONEST

need_sandboxes()

SHORT = [one for one in HONEST if not one.slow][::4]


def test_there_is_enough_of_it():
    assert len(HONEST) >= 30
    assert len({one.name for one in HONEST}) == len(HONEST)


@pytest.mark.parametrize("submission", SHORT, ids=lambda one: one.name)
def test_honest_work_loses_nothing(submission, tmp_path):
    found = marked(submission, tmp_path)
    assert not found.complaints, "\n".join([*found.complaints, found.marks.log[-1000:]])
