"""Slices dealt to tasks: the slowest sets the time, a killed task's slice is worked on again from its beginning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.mapreduce import Span, dealt


def test_without_a_death_the_longest_slice_sets_the_time():
    assert dealt([16, 4]) == [Span(0, 0, 0, 16), Span(1, 1, 0, 4)]


def test_the_killed_tasks_slice_begins_anew_at_the_task_that_is_free_first():
    assert dealt([16, 4], killed=0)[-1] == Span(1, 0, 8, 24)  # B is free at 4, A dies at 8
    assert dealt([16, 4], killed=1)[-1] == Span(0, 1, 16, 20)  # A has to end its own first
    assert dealt([10, 6, 5], killed=0)[-1] == Span(2, 0, 5, 15)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=6), st.data())
def test_every_slice_is_done_once_whole_and_no_task_does_two_things_at_once(sizes, drawn):
    killed = drawn.draw(st.sampled_from([None, *range(len(sizes))]))
    spans = dealt(sizes, killed)
    whole = sorted((span.slice, span.stop - span.start) for span in spans if not span.lost)
    assert whole == [(place, size) for place, size in enumerate(sizes) if size or place != killed]
    for task in range(len(sizes)):
        own = [span for span in spans if span.task == task]
        assert all(one.stop <= other.start for one, other in zip(own, own[1:], strict=False))
    assert [span.task for span in spans if span.lost] == ([] if killed is None else [killed])
    assert max(span.stop for span in spans) >= max(sizes)


@pytest.mark.parametrize(("sizes", "killed"), [([], None), ([-1, 2], None), ([1, 2], 2), ([1, 2], -1), ([5], 0)])
def test_nonsense_is_refused(sizes, killed):
    with pytest.raises(ValueError, match="give sizes from 0 up"):
        dealt(sizes, killed)
