"""What machines cost: the sums by a clock of seconds, the table that says where each price is from, and bad input."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.scale.prices import MONTH, NIGHT, PRICES, core_hours, cost, price

ROUND = dataclasses.replace(price("m6i.large"), hour=0.25, disk=0.5, egress=0.125)


def by_the_minute(one, machines, minutes, disk_gb):
    """Add up machine by machine and minute by minute."""
    return sum(one.hour / 60 + one.disk * disk_gb / MONTH / 60 for _ in range(machines) for _ in range(minutes))


@given(st.sampled_from(PRICES), st.integers(1, 5), st.integers(1, 180), st.integers(0, 200), st.integers(0, 500))
def test_a_cost_is_the_sum_of_every_minute_of_every_machine(one, machines, minutes, disk_gb, egress_gb):
    found = cost(one.machine, machines, minutes / 60, disk_gb=disk_gb, egress_gb=egress_gb)
    there = by_the_minute(one, machines, minutes, disk_gb)
    assert found.compute + found.disk == pytest.approx(there)
    assert found.total == pytest.approx(there + egress_gb * one.egress)
    assert found.left_running(90 / 60) == pytest.approx(by_the_minute(one, machines, 90, disk_gb))


def test_a_cluster_forgotten_for_a_month_costs_its_months_rent_and_a_night_its_share():
    found = cost(ROUND, 4, 2.0, disk_gb=10)
    assert found.left_running(MONTH) == pytest.approx(4 * (730 * 0.25 + 10 * 0.5))
    assert found.left_running(NIGHT) == pytest.approx(found.left_running(MONTH) * 12 / 730)


def test_what_is_shown_says_the_prices_their_month_and_what_forgetting_costs():
    shown = repr(cost(ROUND, 4, 2.0, disk_gb=10, egress_gb=8))
    assert "4 × m6i.large (aws us-east-1, list price of 2026-04)" in shown
    for row in (r"4 × 2 h at \$0.25 an hour +\$ +2.00", r"sent out at \$0.125 a GB +\$ +1.00", r"together +\$ +3.05"):
        assert re.search(row, shown), shown
    assert re.search(r"a night \(12 h\), on top +\$ +12.33\n", shown), shown
    assert re.search(r"a month \(730 h\), on top +\$ +750.00$", shown), shown


def test_every_price_has_a_region_a_month_and_the_clouds_own_page():
    for one in PRICES:
        assert one.source.startswith("https://") and one.cloud in one.source.replace("cloud.google", "gcp"), one
        assert re.fullmatch(r"20\d\d-[01]\d", one.date) and one.region, one
        assert 0.01 < one.hour < 10 and 0 < one.disk < 1 and 0 < one.egress < 1, one
    assert len({one.machine for one in PRICES}) == len(PRICES)
    assert {(one.cloud, bool(one.gpu)) for one in PRICES} == {(c, g) for c in ("aws", "gcp", "azure") for g in (0, 1)}


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: cost("m6i.huge", 1, 1), "known are 'm6i.large' (aws)"),
        (lambda: cost("m6i.large", 0, 1), "cost(machines=0): give a whole number, 1 or more"),
        (lambda: cost("m6i.large", 1, 0), "cost(hours=0): give a number above 0"),
        (lambda: cost("m6i.large", 1, float("nan")), "cost(hours=nan)"),
        (lambda: cost("m6i.large", 1, 1, egress_gb=-1), "cost(egress_gb=-1): give a number of GB"),
        (lambda: core_hours(2, 0, 1, budget=10), "core_hours(cores=0): give a number above 0"),
        (lambda: core_hours(2, 16, 3, budget=10, walltime=2), "the job is ended at its walltime; ask for 3 or more"),
    ],
)
def test_what_no_bill_has_is_refused_with_the_next_step(call, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        call()


def test_a_batch_system_bills_held_cores_and_forgetting_ends_with_the_walltime():
    found = core_hours(2, 16, 1.5, budget=1000, walltime=4, jobs=3)
    assert (found.node_hours, found.core_hours, found.at_most) == (9.0, 144.0, 384.0)
    assert "144.0 core-hours of 1,000: 14.4%" in repr(found) and "384.0 core-hours, 38.4%" in repr(found)
