"""Two runs of one commit, made up with known noise: how often is a change seen that is none, and is a real one seen?"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from benchmarks.against import compared
from benchmarks.figures import Entry, Result
from benchmarks.noise import LEVEL

NAMES = {"ours": "ours", "ours 2": "ours", **{f"peer {number}": "peer" for number in range(5)}, "limit": "limit"}


def run(rng, starts, rounds=9, slower=1.0, between=0.0, start=0.0, turn=0.0, machine=0.0, names=NAMES, topics=3):
    """Return a report of made-up figures around 100, `ours` of the first topic `slower`.

    Standard deviations of the logarithms: `machine` of all figures together, `between` of each figure from run to run,
    `start` from process to process, `turn` from round to round.
    """
    results, common = [], rng.normal(0, machine)
    for topic in range(topics):
        entries = []
        for name, kind in names.items():
            logs = common + rng.normal(0, between) + np.repeat(rng.normal(0, start, starts), -(-rounds // starts))
            logs = logs[:rounds] + rng.normal(0, turn, rounds)
            factor = slower if name == "ours" and topic == 0 else 1.0
            entries.append(Entry(name, kind, tuple(100 / factor * np.exp(logs))))
        results.append(Result(f"topic {topic}", "title", "unit", "more", 1, rounds, tuple(entries), (), starts))
    return {"busy": [], "results": results}


def called(seed, runs, slower=1.0, **about):
    """Return the share of figures of ours that were called slower or faster, and that of the planted one, in `runs`."""
    rng, all_, planted = np.random.default_rng(seed), [], []
    for _ in range(runs):
        changes = compared(run(rng, **about), run(rng, slower=slower, **about))
        all_ += [change.verdict != "as before" for change in changes]
        planted += [
            change.verdict == "slower" for change in changes if (change.topic, change.name) == ("topic 0", "ours")
        ]
    return np.mean(all_), np.mean(planted)


#: What was seen on a shared virtual machine: steady, of other memory in each process, of another speed in each run.
STEADY = {"turn": 0.02, "start": 0.02, "between": 0.0, "machine": 0.3}
MEMORY = {"turn": 0.03, "start": 0.12, "between": 0.0, "machine": 0.1}
MOVED = {"turn": 0.02, "start": 0.05, "between": 0.15, "machine": 0.1}
WILD = {"turn": 0.35, "start": 0.1, "between": 0.1, "machine": 0.3}


@pytest.mark.parametrize("seen", [STEADY, MEMORY, MOVED, WILD], ids=["steady", "memory", "moved", "wild"])
@pytest.mark.parametrize(("starts", "rounds"), [(1, 3), (3, 9)], ids=["quick", "whole"])
def test_of_two_runs_of_one_commit_no_more_figures_are_called_slower_or_faster_than_the_level(seen, starts, rounds):
    share, _ = called(0, 100, starts=starts, rounds=rounds, topics=2, **seen)
    count = 100 * 2 * 2
    assert share <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / count)


@pytest.mark.parametrize("seen", [STEADY, {**STEADY, "start": 0.03}], ids=["steady", "some memory"])
def test_what_is_a_third_slower_is_found_by_whole_runs(seen):
    _, found = called(1, 30, 1.3, starts=3, topics=2, **seen)
    assert found >= (1.0 if seen is STEADY else 0.9)


def test_what_all_peers_moved_by_as_well_is_no_change_of_ours():
    rng = np.random.default_rng(2)
    then, now = run(rng, 1, turn=0.01), run(rng, 1, turn=0.01, between=0.2)
    assert {change.verdict for change in compared(then, now)} == {"as before"}


def scaled(report, factor):
    """The report of the same run on a machine that is so many times as fast."""
    results = []
    for one in report["results"]:
        entries = tuple(replace(entry, samples=tuple(factor * it for it in entry.samples)) for entry in one.entries)
        results.append(replace(one, entries=entries))
    return {**report, "results": results}


ALONE = {"ours": "ours", "ours 2": "ours"}
seeds, factors = some.integers(0, 1000), some.floats(0.2, 5)


@pytest.mark.long
@settings(max_examples=25)
@given(seeds, factors)
def test_a_faster_machine_changes_no_verdict(seed, factor):
    rng = np.random.default_rng(seed)
    then, now = (run(rng, 3, slower=slower, **STEADY) for slower in (1, 1.3))
    alone = [run(rng, 3, names=ALONE, topics=1, **STEADY)["results"][0] for _ in range(2)]
    for report, one in zip((then, now), alone, strict=True):  # beside which nothing is, in a topic that has others
        report["results"].append(replace(one, topic="topic 1", title="nothing beside it"))
    here, there = (compared(then, other) for other in (now, scaled(now, factor)))
    assert [one.verdict for one in here] == [one.verdict for one in there]
    assert [one.factor for one in here] == pytest.approx([one.factor for one in there])


@settings(max_examples=25)
@given(seeds, some.floats(1, 2))
def test_what_got_slower_got_faster_in_the_other_direction(seed, slower):
    rng = np.random.default_rng(seed)
    then, now = run(rng, 1, 3, **STEADY), run(rng, 1, 3, slower, **STEADY)
    mirror = {"slower": "faster", "faster": "slower", "as before": "as before"}
    there, back = compared(then, now), compared(now, then)
    assert [one.verdict for one in there] == [mirror[one.verdict] for one in back]
    assert [one.factor for one in there] == pytest.approx([1 / one.factor for one in back])
