"""Lab 04 holds what it promises; other right answers are right, and tricks are worth nothing."""

import numpy as np
import pytest

from course.checks.discovery import load_part
from grader.lab.source import load_lab
from tests.labs.solved import marks_of, points_lost

LAB = load_lab("labs/lab04_mapreduce_mean")
oracles, cases = load_part(LAB.folder, "oracles"), load_part(LAB.folder, "cases")
op = load_part(LAB.folder, "place_cases").op


BY_LIBRARIES = {
    "map_and_reduce": """
from collections import defaultdict
from functools import reduce
from itertools import chain

def map_and_reduce(parts, mapper, join):
    groups = defaultdict(list)
    for key, value in chain.from_iterable(map(mapper, parts)):
        groups[key].append(value)
    return {key: reduce(join, values) for key, values in groups.items()}
""",
    "rename_job": r"""
import copy, re

def rename_job(jobs, places, old, new):
    there = copy.deepcopy(jobs)
    there[new] = there.pop(old)
    whole = re.compile(rf"^/job:{re.escape(old)}(?=/|\Z)")
    return [there, [whole.sub(lambda found: "/job:" + new, place) for place in places]]
""",
    "mean_of_slices": """
def mean_of_slices(means, sizes):
    means, sizes = np.array(means), np.array(sizes)
    return np.nansum(means * sizes) / sizes.sum() if sizes.sum() else np.float64("nan")
""",
    "spread_of_slices": """
def spread_of_slices(slices):
    n = sum(size for size, _, _ in slices)
    mean = sum(size * mean for size, mean, _ in slices) / n
    return [np.int64(n), np.float32(mean) * 0 + mean, sum(s * (v + m * m) for s, m, v in slices) / n - mean * mean]
""",
    "steady_mean": """
def steady_mean(blocks):
    return np.concatenate(list(blocks)).mean(dtype=np.float64)
""",
    "locate": r"""
import re

def locate(jobs, place):
    job, task, device = re.fullmatch(r"/job:(.+)/task:(\\d+)(/.*)?", place).groups()
    try:
        return [jobs[job][int(task)], device or "/cpu:0"]
    except LookupError as error:
        raise ValueError(place) from error
""".replace(r"\\", "\\"),
    "strays": """
def strays(record, place):
    names = []
    for line in record:
        if line["view"] is False and line["bytes_moved"] == 0:
            if line["device"] != place and not line["device"].startswith(place + "/"):
                names.append(line["op"])
    return tuple(names)
""",
}


def test_other_right_answers_get_full_marks():
    assert points_lost(LAB, BY_LIBRARIES) == {}


TRICKS = """
class Equal(dict):
    __eq__ = lambda self, other: True
    __hash__ = lambda self: 0
    __float__ = lambda self: float("nan")

for name in ("map_and_reduce", "rename_job", "mean_of_slices", "spread_of_slices", "steady_mean", "locate", "strays"):
    globals()[name] = lambda *arguments: Equal()
"""
FORGED = """
import builtins, json, math as m
import numpy
m.isclose = lambda *a, **k: True
numpy.allclose = lambda *a, **k: True
json.dumps = lambda *a, **k: "{}"
builtins.sum = lambda *a: 0
"""


@pytest.mark.parametrize("text", [TRICKS, FORGED], ids=["equal to everything", "changed modules"])
def test_tricks_get_nothing(text):
    last = LAB.exercises[-1].name
    marks = marks_of(LAB, {last: LAB.source.cell(last).text + text}, before=text)
    assert [mark for mark in marks.values() if mark.score] == []


def test_the_course_has_no_answers_inside():
    asked = {
        "mean_of_slices": "from labs.lab04_mapreduce_mean.oracles import exact_mean as mean_of_slices",
        "strays": "from labs.lab04_mapreduce_mean.oracles import away_from as strays",
        "steady_mean": "from course import mean as steady_mean",
    }
    assert [mark for mark in marks_of(LAB, asked).values() if mark.score] == []


def test_a_third_of_the_points_is_for_refusing():
    found = """
def locate(jobs, place):
    _, job, task, *device = place.split("/")
    return jobs[job[4:]][int(task[5:])], "/" + device[0] if device else "/cpu:0"
"""
    assert marks_of(LAB, {"locate": found})["locate"].score == pytest.approx(2)


def test_the_oracles_agree_with_numpy_where_numpy_is_right():
    draw = np.random.default_rng(4)
    cut = [draw.normal(3, 2, size) for size in (5, 1, 40)]
    every = np.concatenate(cut)
    assert oracles.whole_spread(every) == pytest.approx((46, every.mean(), every.var()))
    assert oracles.exact_mean([c.mean() for c in cut], [5, 1, 40]) == pytest.approx(every.mean())
    blocks = cases.noisy_blocks(draw, (100, 0, 300))
    assert oracles.without_rounding(blocks) == np.concatenate(blocks).astype(np.float64).mean()
    for cut in cases.CUTS:
        assert cases.cut_case(cut).truth == oracles.whole_spread([n for one in cut for n in one])


def test_places_that_begin_alike_are_told_apart():
    jobs = {"w": [f"a:{port}" for port in range(1, 13)]}
    assert oracles.looked_up(jobs, "/job:w/task:11/gpu:0") == ("a:12", "/gpu:0")
    assert oracles.looked_up(jobs, "/job:w/task:12") is None
    assert oracles.away_from([op("mm", "/job:w/task:11/gpu:0")], "/job:w/task:1") == ["mm"]
