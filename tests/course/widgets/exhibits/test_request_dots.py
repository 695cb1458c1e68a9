"""The exhibit of requests: its words are those of the simulation, whatever the settings."""

import pytest

from course.widgets import RequestDots
from tests.course.widgets.page_of import data_of


def test_it_says_what_the_simulation_finds_and_that_it_is_one():
    exhibit = RequestDots(rate=300)
    within = exhibit.outcome.within(99)
    assert f"99 of 100 within {within / 1e3:.1f} ms" in repr(exhibit) and "Simulated" in repr(exhibit)
    assert exhibit.outcome.late == 0 and exhibit.outcome.refused == ()


def test_too_many_for_a_short_queue_are_refused_and_for_a_long_one_late():
    assert len(RequestDots(rate=800, queue=8, deadline=100).outcome.refused) > 1000
    late = RequestDots(rate=800, queue=256, deadline=100).outcome
    assert late.late > 10 * len(late.stays)
    assert RequestDots(rate=800, largest=64, queue=256, deadline=100).outcome.late == 0  # batches help


def test_a_setting_that_is_no_stop_of_its_slider_becomes_one():
    stops = data_of(RequestDots(rate=321, largest=5, queue=7, deadline=33))["stops"]
    assert 321 in stops["rate"] and 5 in stops["largest"] and 7 in stops["queue"] and 33 in stops["deadline"]
    assert stops["deadline"][-1] is None and stops["rate"] == sorted(stops["rate"])


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="largest=0"):
        RequestDots(largest=0)
    with pytest.raises(ValueError, match="rate=0"):
        RequestDots(rate=0)


def test_where_few_are_answered_that_comes_first():
    assert "Simulated: none of 2,954 requests is answered" in repr(RequestDots(first=50, deadline=10))
    few = RequestDots(rate=800, queue=256, deadline=100)
    share = len(few.outcome.stays) / (len(few.outcome.arrives) + len(few.outcome.refused))
    assert f"Simulated: {share:.1%} of " in repr(few) and "; of those 99 of 100 within" in repr(few)
