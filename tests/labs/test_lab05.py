"""Lab 05 holds what it promises; other right answers are right, and pi itself is worth nothing."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from course.checks.discovery import load_part
from course.pi import estimate_pi
from grader.lab.source import load_lab
from tests.labs.solved import marks_of, points_lost

LAB = load_lab("labs/lab05_distributed_pi")
darts, made_up = load_part(LAB.folder, "oracles"), load_part(LAB.folder, "driver").made_up


BY_LIBRARIES = {
    "count_inside": """
def count_inside(stream, first, last):
    values = numbers(stream, 2 * first, 2 * last)
    return np.sum(np.hypot(values[::2], values[1::2]) < 1)
""",
    "pi_on_servers": """
def pi_on_servers(darts, servers, submit):
    parts = [part for part in np.array_split(np.arange(darts), servers)]
    futures = [submit(k, part[0], part[-1] + 1) for k, part in enumerate(parts) if part.size]
    counts = [future.result(timeout=60) for future in reversed(futures)]
    return np.array([sum(counts), 4 * sum(counts) / darts])
""",
    "pi_on_gpus": r"""
import re

def pi_on_gpus(devices, darts):
    gpus = sorted(re.fullmatch(r"(.*)/gpu:(\\d+)", name).groups() for name in devices if re.search(r"/gpu:\\d+$", name))
    some, more = divmod(darts, len(gpus))
    plan, first = [], 0
    for k, (task, index) in enumerate(gpus):
        plan.append([task, "cuda:%s" % index, np.int64(first), first + some + (k < more)])
        first = plan[-1][3]
    return plan[::-1]
""".replace(r"\\", "\\"),
    "pooled_pi": """
def pooled_pi(counts):
    inside, samples = np.array(counts).sum(axis=0)
    p = inside / samples
    return np.array([4 * p, np.sqrt(16 * p * (1 - p) / samples)])
""",
    "error_of_runs": """
import statistics

def error_of_runs(values):
    return statistics.stdev(values) / len(values) ** 0.5
""",
    "stream_for": """
def stream_for(run, server, servers):
    return np.cumsum([0] + servers)[run] + server
""",
    "thrown_twice": """
from collections import Counter

def thrown_twice(ranges):
    times = Counter((stream, dart) for stream, first, last in ranges for dart in range(first, last))
    return sum(times.values()) - len(times)
""",
}


def test_other_right_answers_get_full_marks():
    assert points_lost(LAB, BY_LIBRARIES) == {}


def test_pi_itself_and_the_courses_own_counts_are_worth_nothing():
    answers = {
        "count_inside": "def count_inside(stream, first, last):\n    return round((last - first) * math.pi / 4)",
        "pi_on_servers": "def pi_on_servers(darts, servers, submit):\n    return darts, math.pi",
        "pi_on_gpus": "from labs.lab05_distributed_pi.oracles import on_gpus as pi_on_gpus",
        "pooled_pi": "def pooled_pi(counts):\n    return math.pi, 0.0",
        "error_of_runs": "from labs.lab05_distributed_pi.oracles import pair_by_pair as error_of_runs",
        "thrown_twice": "from labs.lab05_distributed_pi.oracles import one_by_one as thrown_twice",
    }
    assert [mark for mark in marks_of(LAB, answers).values() if mark.score] == []


def test_the_servers_are_not_asked_one_after_another():
    serial = """
def pi_on_servers(darts, servers, submit):
    cut = [darts * k // servers for k in range(servers + 1)]
    inside = sum(submit(k, cut[k], cut[k + 1]).result() for k in range(servers))
    return inside, 4 * inside / darts
"""
    mark = marks_of(LAB, {"pi_on_servers": serial})["pi_on_servers"]
    assert mark.score == 0 and "one after another" in mark.reason


def test_each_submission_is_asked_about_darts_of_its_own():
    exercise = LAB.exercise("count_inside")
    asked = [
        [case.arguments for case in exercise.cases(np.random.default_rng(seed)) if not case.edge] for seed in (1, 1, 2)
    ]
    assert asked[0] == asked[1]
    assert not set(asked[0]) & set(asked[2])


def test_a_dart_is_the_same_wherever_the_count_begins():
    whole = darts.dart_by_dart(5, 0, 300)
    assert whole == darts.dart_by_dart(5, 0, 121) + darts.dart_by_dart(5, 121, 300)
    assert abs(4 * darts.dart_by_dart(11, 0, 20_000) / 20_000 - np.pi) < 5 * 1.642 / 20_000**0.5


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([(0, 0, 5), (1, 5, 10)], None),
        ([(1, 0, 5), (0, 5, 10)], None),
        ([(0, 0, 5), (1, 4, 9)], "thrown twice"),
        ([(0, 0, 5), (1, 6, 10)], "a share of 4"),
        ([(0, 0, 5)], "thrown by nobody"),
        ([(0, 0, 5), (2, 5, 10)], "asks the servers"),
        ([(0, 0, 5), (0, 5, 10)], "asks the servers"),
        ([(0, 0, 10)], "a share of 10"),
        ([(0, -1, 4), (1, 5, 10)], "no range"),
        ([], "thrown by nobody"),
    ],
)
def test_shares_are_fair_and_every_dart_has_one_thrower(calls, said):
    total = sum(made_up(*call) for call in calls)
    verdict = darts.on_servers((total, 4 * total / 10), calls, len(calls), 10, 2)
    assert verdict is True if said is None else said in verdict


def test_the_formula_and_the_course_agree_on_the_standard_error():
    estimate = estimate_pi(10_000, seed=3)
    assert darts.written_out([(estimate.inside, 10_000)]) == pytest.approx(
        (estimate.value, estimate.standard_error), 1e-3
    )


def test_all_pairs_of_values_give_the_spread_of_the_mean():
    values = [3.0, 3.5, 2.25, 3.125]
    assert darts.pair_by_pair(values) == pytest.approx(np.std(values, ddof=1) / 2)
    assert darts.pair_by_pair([float(Fraction(1, 3))] * 2) == 0


def test_darts_thrown_again_are_those_beyond_the_first_throw():
    ranges = [(1, 0, 6), (1, 2, 4), (2, 0, 3), (1, 3, 9)]
    times = Counter((s, i) for s, first, last in ranges for i in range(first, last))
    assert darts.one_by_one(ranges) == sum(times.values()) - len(times) == 5
