"""Honest work, written and saved as people do: not a point of it is lost. `make attacks` runs the slow ones as well."""

import pytest
from sandboxes import need_sandboxes

from tests.attacks.table import marked
from tests.honest.catalogue import HONEST

need_sandboxes()

LIGHT = [one for one in HONEST if not one.slow]


@pytest.mark.parametrize("submission", LIGHT, ids=lambda one: one.name)
def test_honest_work_loses_nothing(submission, tmp_path):
    found = marked(submission, tmp_path)
    assert not found.complaints, "\n".join([*found.complaints, found.marks.log[-1000:]])
