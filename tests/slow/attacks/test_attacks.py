"""Submissions that want marks for no work, or harm: each gets what honest reading gives it, and the host is as it was.

A third of the light ones here, every kind among them; `make attacks` runs all.
"""

import pytest

from tests.helpers.sandboxes import need_sandboxes
from tests.slow.attacks.families.catalogue import ATTACKS
from tests.slow.attacks.table import marked

need_sandboxes()

LIGHT = [attack for attack in ATTACKS if not attack.slow]
SHORT = LIGHT[::3]


def test_there_are_enough_of_them():
    assert len(ATTACKS) >= 40
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("submission", SHORT, ids=lambda attack: attack.name)
def test_an_attack_gets_what_it_deserves(submission, tmp_path):
    outcome = marked(submission, tmp_path)
    assert not outcome.complaints, "\n".join([*outcome.complaints, outcome.marks.log[-1000:]])
