"""Submissions that want marks for no work, or harm: each gets what honest reading gives it, and the host is as it was.

A seeded choice here; `make attacks` runs all.
"""

import pytest
from sandboxes import need_sandboxes

from tests.attacks.catalogue import ATTACKS
from tests.attacks.table import marked

need_sandboxes()

LIGHT = [one for one in ATTACKS if not one.slow]


@pytest.mark.parametrize("submission", LIGHT, ids=lambda one: one.name)
def test_an_attack_gets_what_it_deserves(submission, tmp_path):
    found = marked(submission, tmp_path)
    assert not found.complaints, "\n".join([*found.complaints, found.marks.log[-1000:]])
