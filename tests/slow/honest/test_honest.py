"""Honest work, written and saved as people do: it loses not a point. A part of it here; `make attacks` runs all."""

import pytest

from tests.helpers.sandboxes import need_sandboxes
from tests.slow.attacks.table import marked
from tests.slow.honest.catalogue import HONEST

need_sandboxes()

SHORT = [work for work in HONEST if not work.slow][::4]


def test_there_is_enough_of_it():
    assert len(HONEST) >= 30
    assert len({work.name for work in HONEST}) == len(HONEST)


@pytest.mark.parametrize("submission", SHORT, ids=lambda work: work.name)
def test_honest_work_loses_nothing(submission, tmp_path):
    outcome = marked(submission, tmp_path)
    assert not outcome.complaints, "\n".join([*outcome.complaints, outcome.marks.log[-1000:]])
