"""Ratios, their spread, targets, and what counts as slower: on figures made up for it."""

import pytest

from benchmarks.against import compared
from benchmarks.figures import Entry, Result, Spread, Target


def result(better="more", targets=(), **samples):
    """A result whose entries are called as the arguments, `limit` and `peer…` of that kind."""
    kinds = {name: "limit" if name == "limit" else "peer" if name.startswith("peer") else "ours" for name in samples}
    entries = tuple(Entry(name, kinds[name], tuple(found)) for name, found in samples.items())
    return Result("topic", "title", "unit", better, 1, 3, entries, tuple(targets))


def test_a_ratio_is_taken_round_by_round_so_that_a_busy_moment_costs_it_nothing():
    spread = result(ours=(10, 2, 8), limit=(20, 4, 16)).ratio("ours", "limit")
    assert spread == Spread(0.5, 0.5, 0.5, 0.5, 3)


def test_the_spread_holds_half_of_the_rounds_and_the_bests_are_compared_with_each_other():
    spread = result(ours=(1, 2, 3, 4, 5), limit=(1, 1, 1, 1, 2)).ratio("ours", "limit")
    assert (spread.median, spread.low, spread.high, spread.best) == (2.5, 2, 3, 2.5)


def test_a_round_in_which_one_has_no_figure_counts_for_neither():
    spread = result(ours=(10, None, 30), limit=(10, 5)).ratio("ours", "limit")
    assert spread.median == 1 and spread.rounds == 1
    assert result(ours=(), limit=(1, 2)).ratio("ours", "limit") is None


def test_the_best_of_times_is_the_least_and_of_rates_the_most():
    assert result(ours=(3, 1, 2)).best("ours") == 3
    assert result("less", ours=(3, 1, 2)).best("ours") == 1


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        (Target("ours", "limit", least=0.5), True),
        (Target("ours", "limit", least=0.6), False),
        (Target("ours", least=12), True),
        (Target("ours", most=11), False),
        (Target("ours", "peer", least=0.1), None),
        (Target("nobody", least=1), None),
    ],
)
def test_a_target_is_kept_missed_or_cannot_be_told(target, kept):
    assert result(ours=(10, 12), limit=(24, 20), peer=()).kept(target) is kept


def test_what_all_are_compared_with_is_the_limit_or_else_the_first_peer_that_has_figures():
    assert result(ours=(1,), peer=(2,), limit=(3,)).reference().name == "limit"
    assert result(ours=(1,), peer=(), peer2=(2,), limit=()).reference().name == "peer2"
    assert result(ours=(1,)).reference() is None


# --- two runs ---------------------------------------------------------------------------------------------------------


def verdict(then, now):
    (change,) = compared({"busy": [], "results": [then]}, {"busy": [], "results": [now]})
    return change


CALM = {"ours": (50, 51, 49, 50), "limit": (100, 101, 99, 100)}


def test_a_planted_slower_run_is_said_with_its_factor():
    change = verdict(result(**CALM), result(ours=(25, 25.5, 24.5, 25), limit=CALM["limit"]))
    assert change.verdict == "slower" and change.factor == pytest.approx(2, rel=0.02)
    assert "SLOWER: title: ours: 2.0" in str(change) and "beside limit" in str(change)


def test_noise_is_not_said():
    assert verdict(result(**CALM), result(ours=(47, 48, 46, 47), limit=CALM["limit"])).verdict == "as before"
    wild = result(ours=(20, 60, 25, 45), limit=CALM["limit"])  # a median of 35: but half of its rounds lie anywhere
    assert verdict(result(**CALM), wild).verdict == "as before"


def test_a_third_slower_is_said_where_the_rounds_are_steady_and_a_single_round_only_when_it_is_twice_as_slow():
    third, half = (tuple(one / by for one in CALM["ours"]) for by in (1.3, 2.2))
    assert verdict(result(**CALM), result(ours=third, limit=CALM["limit"])).verdict == "slower"
    once = result(ours=(50,), limit=(100,))
    assert verdict(once, result(ours=(38,), limit=(100,))).verdict == "as before"
    assert verdict(once, result(ours=half[:1], limit=(100,))).verdict == "slower"


def test_without_anything_beside_it_a_figure_must_change_by_a_quarter():
    fifth, half = (tuple(one / by for one in CALM["ours"]) for by in (1.2, 1.5))
    assert verdict(result(ours=CALM["ours"]), result(ours=fifth)).verdict == "as before"
    assert verdict(result(ours=CALM["ours"]), result(ours=half)).verdict == "slower"


def test_both_the_median_and_the_best_of_the_rounds_must_be_slower():
    hit = (50, 38, 37, 38)  # other work in three of four rounds, which the limit was spared
    assert verdict(result(**CALM), result(ours=hit, limit=CALM["limit"])).verdict == "as before"


def test_of_a_busy_machine_a_change_is_only_perhaps_one():
    then, now = result(**CALM), result(ours=(25, 25.5, 24.5, 25), limit=CALM["limit"])
    calm = {"busy": [{"topic": now.topic, "used": 0.1, "load": 3.0}], "results": [then]}
    busy = {"busy": [{"topic": now.topic, "used": 0.9, "load": 3.0}], "results": [now]}
    (change,) = compared(calm, busy)
    assert change.verdict == "perhaps slower" and str(change).startswith("PERHAPS SLOWER: title: ours: 2.0")
    (same,) = compared(calm, {**busy, "results": [then]})
    assert same.verdict == "as before"


def test_a_figure_of_nothing_is_no_change():
    assert verdict(result("less", ours=(0.0, 0.0), limit=(1, 1)), result("less", ours=(3, 3), limit=(1, 1))).factor == 1


def test_of_times_more_is_slower():
    then, now = (result("less", ours=found, limit=(1, 1, 1)) for found in ((2, 2, 2), (4, 4, 4)))
    assert verdict(then, now).verdict == "slower" and verdict(now, then).verdict == "faster"


def test_a_figure_that_is_there_no_more_is_lost_and_a_new_one_is_no_change():
    assert verdict(result(**CALM), result(ours=(), limit=CALM["limit"])).verdict == "lost"
    assert compared({"busy": [], "results": [result(ours=())]}, {"busy": [], "results": [result(**CALM)]}) == []
    assert compared({"busy": [], "results": []}, {"busy": [], "results": [result(**CALM)]}) == []


def test_what_both_runs_were_compared_with_is_the_limit_or_else_the_steadiest_peer_of_both():
    peers = {"peer": (10, 90, 30, 60), "peer2": (20, 20, 20, 20)}
    assert verdict(result(**CALM, **peers), result(**CALM, **peers)).beside == "limit"
    alone = {"ours": CALM["ours"], **peers}
    assert verdict(result(**alone), result(**CALM, **peers)).beside == "peer2"


def test_a_peers_own_change_is_not_ours():
    old, new = result(ours=(1, 1), peer=(1, 1)), result(ours=(1, 1), peer=(9, 9))
    changes = compared({"busy": [], "results": [old]}, {"busy": [], "results": [new]})
    assert [change.name for change in changes] == ["ours"]
