"""The short form of `make faults`: one trial of each of some kinds, on clusters that are kept."""

import pytest

from tests.slow.faults import lanes, report
from tests.slow.faults.catalogue import KINDS
from tests.slow.faults.plan import plan

pytestmark = pytest.mark.faults
#: Kinds that are quick, one of each sort; the others need clusters of their own, and `make faults`.
SHORT = [
    "worker killed",
    "ps killed",
    "checkpoint torn",
    "disk full",
    "connection cut in mid-message",
    "classic: chief killed",
]


def test_faults_of_many_kinds_end_right_and_leave_nothing():
    seeds = [number for number, kind in enumerate(KINDS) if kind.name in SHORT]
    outcomes = lanes.run(seeds, KINDS, lanes=1, say=lambda outcome: print(report.line(outcome)))
    assert [outcome.kind for outcome in outcomes] == [plan(seed, KINDS).kind.name for seed in seeds]
    for outcome in outcomes:
        if outcome.end == "not here":
            print(f"not tried here: {outcome.kind}: {outcome.notes}")
    assert not [report.line(outcome) for outcome in outcomes if outcome.failed]
