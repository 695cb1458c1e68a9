"""The notation of a space, and grids over it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from course.tuning.space import grid, make_space

NUMBERS = st.floats(1e-6, 1e6)
RANGES = st.tuples(NUMBERS, NUMBERS).filter(lambda ends: ends[0] < ends[1])
WHOLE = st.tuples(st.integers(1, 60), st.integers(1, 60)).filter(lambda ends: ends[0] < ends[1])
VALUES = st.one_of(
    RANGES,
    RANGES.map(lambda ends: (*ends, "log")),
    WHOLE,
    WHOLE.map(lambda ends: (*ends, "log")),
    st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True),
)
SPACES = st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1)


def test_each_notation_is_the_distribution_that_it_says():
    notations = {"a": (0.1, 2.0), "b": (1, 9), "c": (0.1, 10, "log"), "d": (1, 64, "log"), "e": ["x", 2, None], "f": 3}
    space = make_space(notations)
    assert space.fixed == {"f": 3}
    assert space.searched == {
        "a": FloatDistribution(0.1, 2.0),
        "b": IntDistribution(1, 9),
        "c": FloatDistribution(0.1, 10.0, log=True),
        "d": IntDistribution(1, 64, log=True),
        "e": CategoricalDistribution(["x", 2, None]),
    }


def test_optunas_own_distributions_are_taken_as_they_are():
    quarters = FloatDistribution(0.0, 1.0, step=0.25)
    assert make_space({"momentum": quarters}).searched == {"momentum": quarters}
    assert make_space({"momentum": quarters}).written() == {"momentum": "0 to 1, in steps of 0.25"}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ((1.0, 0.1), "from a finite number up to a larger one"),
        ((0.1, 0.1), "from a finite number up to a larger one"),
        ((0.0, 1.0, "log"), r"a log range begins above 0, as in \(0.001, 1, 'log'\)"),
        ((0.1, math.inf), "finite"),
        ((math.nan, 1.0), "finite"),
        ((0.1, 1.0, "lg"), r'\(low, high, "log"\)'),
        ((0.1,), r"Write \(low, high\)"),
        ((True, 2), r"Write \(low, high\)"),
        (("a", "b"), "a list for choices"),
        ([], "an empty list"),
        ([1, 1], "a choice twice"),
        ([{}], "a choice is a string, a number"),
        ([math.nan], "finite"),
        (math.inf, "finite"),
        ({"low": 1}, "a dict. Write"),
    ],
    ids=repr,
)
def test_what_is_no_range_is_refused_by_name_with_the_notation(wrong, words):
    with pytest.raises((TypeError, ValueError), match=words) as refused:
        make_space({"momentum": wrong})
    assert "momentum" in str(refused.value)


@pytest.mark.parametrize("wrong", [None, [], {}, {1: (0, 1)}, {"learning_rate": 0.5}], ids=repr)
def test_a_space_in_which_nothing_is_searched_is_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="learning_rate|nothing is searched"):
        make_space(wrong)


@given(SPACES, st.integers(27, 80))
def test_a_grid_lies_in_its_space_is_within_the_budget_and_has_each_point_once(notations, trials):
    space = make_space(notations)
    points = grid(space, trials)
    assert 1 <= len(points) <= trials
    assert len({tuple(point.items()) for point in points}) == len(points)
    for point in points:
        for name, value in point.items():
            distribution = space.searched[name]
            assert distribution._contains(distribution.to_internal_repr(value))
    for name, distribution in space.searched.items():
        values = {point[name] for point in points}
        if isinstance(distribution, CategoricalDistribution):
            assert values == set(distribution.choices)
        elif len(values) > 1:
            assert {distribution.low, distribution.high} <= values


def test_a_grid_of_one_number_has_as_many_points_as_trials_spread_over_powers_of_ten():
    points = grid(make_space({"learning_rate": (0.001, 10.0, "log")}), 5)
    assert [point["learning_rate"] for point in points] == pytest.approx([0.001, 0.01, 0.1, 1, 10])


def test_numbers_share_what_choices_leave(monkeypatch):
    space = make_space({"a": (0.0, 1.0), "b": ["x", "y"], "c": (0.0, 1.0)})
    assert len(grid(space, 40)) == 40  # 4 or 5 for each number, times 2
    assert len(grid(make_space({"a": (1, 2), "b": (0.0, 1.0)}), 6)) == 6  # a whole number has no more than its range
    monkeypatch.setattr("course.tuning.space._FINEST", 7)
    assert len(grid(make_space({"b": (0.0, 1.0)}), 9)) == len(grid(make_space({"a": (1, 60)}), 9)) == 7
    with pytest.raises(ValueError, match=r"search='grid', trials=1\): the choices alone have 2 combinations"):
        grid(space, 1)
