"""Submissions that want marks for no work, or harm: each gets what honest reading gives it, and the host is as it was.

A third of the light ones here, every kind among them; `make attacks` runs all.
"""

import pytest

from tests.helpers.sandboxes import need_sandboxes
from tests.slow.attacks.families.catalogue import ATTACKS
from tests.slow.attacks.table import marked

need_sandboxes()

LIGHT = [one for one in ATTACKS if not one.slow]
SHORT = LIGHT[::3]


def test_there_are_enough_of_them():
    assert len(ATTACKS) >= 40
    assert len({one.name for one in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("submission", SHORT, ids=lambda one: one.name)
def test_an_attack_gets_what_it_deserves(submission, tmp_path):
    found = marked(submission, tmp_path)
    assert not found.complaints, "\n".join([*found.complaints, found.marks.log[-1000:]])
