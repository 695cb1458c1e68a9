"""Chapter 08's checks notice a plausible wrong answer."""

from hypothesis import given
from hypothesis import strategies as st

from tests.notebooks.answers import model_answers
from tests.notebooks.checked import noticed, oracle

RIGHT = model_answers("08_serving")
mean_inside, percentile_of, *_ = RIGHT.values()


def batches(arrivals, seconds, largest, early=0, fuller=False):
    sizes, free, taken = [], 0, 0
    while taken < len(arrivals):
        begins = max(free, arrivals[taken])
        if fuller and taken + largest <= len(arrivals):
            begins = max(begins, arrivals[taken + largest - 1])
        there = sum(arrives <= begins - early for arrives in arrivals)
        sizes.append(max(1, min(largest, there - taken)))
        taken, free = taken + sizes[-1], begins + seconds
    return sizes


def asked(statuses, most, again=(429, 503, None)):
    for attempt, status in enumerate(statuses, 1):
        if attempt == most or status not in again:
            return attempt, status


WRONG = [
    ("mean_inside", lambda begins, ends: (sum(ends) - sum(begins)) / len(ends)),  # the mean stay
    ("mean_inside", lambda begins, ends: len(ends) / max(ends)),  # the rate
    ("mean_inside", lambda begins, ends: mean_inside(begins, ends) * max(ends) / (max(ends) - min(begins) + 1)),
    ("mean_inside", lambda begins, ends: mean_inside(begins, ends) * max(ends) / (max(ends) - min(begins))),
    ("mean_inside", lambda begins, ends: mean_inside(begins, ends) * max(ends) / ends[-1]),
    (
        "mean_inside",
        lambda begins, ends: max(sum(b <= at < e for b, e in zip(begins, ends, strict=True)) for at in ends),
    ),
    ("percentile_of", lambda edges, counts, percent: edges[int(len(edges) * percent / 100)]),
    ("percentile_of", lambda edges, counts, percent: percentile_of(edges, counts, percent + 0.5)),
    ("percentile_of", lambda edges, counts, percent: percentile_of(edges, counts, percent - 1)),
    ("percentile_of", lambda edges, counts, percent: edges[-1]),
    ("batches", lambda arrivals, seconds, largest: [1] * len(arrivals)),
    ("batches", lambda arrivals, seconds, largest: batches(arrivals, seconds, len(arrivals) + 1)),
    ("batches", lambda arrivals, seconds, largest: batches(arrivals, seconds, largest, early=1)),
    ("batches", lambda arrivals, seconds, largest: batches(arrivals, seconds, largest, fuller=True)),
    ("asked", lambda statuses, most: asked(statuses, most, (429, 503))),
    ("asked", lambda statuses, most: asked(statuses, most, (429, 503, 500, None))),
    ("asked", lambda statuses, most: asked(statuses, most, (429, 503, 404, 413, None))),
    ("asked", lambda statuses, most: asked(statuses, len(statuses))),
    ("asked", lambda statuses, most: (1, statuses[0])),
]


test_a_plausible_wrong_answer_is_noticed = noticed(WRONG)

ORACLES = {name: oracle(name) for name in ("batches", "percentile_of")}


@given(st.lists(st.integers(0, 30), max_size=20).map(sorted), st.integers(1, 6), st.integers(1, 5))
def test_batches_are_the_ticking_clocks(arrivals, seconds, largest):
    sizes = RIGHT["batches"](arrivals, seconds, largest)
    assert sizes == ORACLES["batches"](arrivals, seconds, largest)
    assert sum(sizes) == len(arrivals)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), st.integers(1, 100))
def test_a_percentile_of_buckets_is_that_of_the_edges_written_down(counts, percent):
    edges = [2**place for place in range(len(counts))]
    wanted = ORACLES["percentile_of"](edges, counts, percent)
    assert percentile_of(edges, counts, percent) == wanted
