"""SliceMean: the cut moves both means, the average of means errs where the slices are unequal, the picture says so."""

import pytest
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as st

from course.draw import SliceMeans, slice_means
from course.widgets import SliceMean


@pytest.fixture
def widget():
    made = SliceMean(values=[1.0, 2.0, 3.0, 10.0], cut=3)
    yield made
    made.close()


def test_a_cut_gives_both_means_and_both_ways_to_join_them(widget):
    assert widget.result.means == (2.0, 10.0)
    assert widget.result.naive == 6.0 and widget.result.weighted == 4.0
    assert "off by +2" in widget.static().html


def test_in_the_middle_averaging_the_means_is_right(widget):
    widget.cut = 2
    assert widget.result.naive == widget.result.weighted == 4.0
    assert "happens to be right" in widget.static().html


@pytest.mark.parametrize("cut", [0, 4])
def test_an_empty_slice_has_no_mean_and_does_not_change_the_answer(widget, cut):
    widget.cut = cut
    assert widget.result.weighted == 4.0
    assert "empty slice has no mean" in widget.static().html


def test_every_cut_lies_in_the_page(widget):
    stored = widget.stored()
    assert [settings for settings, _ in stored] == [{"cut": cut} for cut in range(5)]
    assert stored[3][1] == widget.answer(widget.result)
    assert stored[3][1]["figure"] == "6 is not 4" and stored[3][1]["means"] == [2.0, 10.0]
    assert stored[0][1]["means"] == [None, 4.0] and stored[0][1]["averaged"] is None
    assert stored[2][1]["figure"] == "4" and "happens to be right" in stored[2][1]["small"]


def test_a_cut_outside_the_data_is_refused_with_the_legal_range(widget):
    with pytest.raises(traitlets.TraitError, match="give 0 to 4"):
        widget.cut = 5
    with pytest.raises(traitlets.TraitError):
        widget.cut = -1
    assert widget.cut == 3


def test_shorter_data_pull_the_cut_along(widget):
    widget.values = [1.0, 3.0]
    assert widget.cut == 2 and widget.result.weighted == 2.0


def test_a_killed_task_changes_who_waits_and_never_the_mean(widget):
    whole = widget.result.weighted
    assert "join begins after 3 s" in widget.static().alt
    widget.killed = "A"
    assert widget.result.weighted == whole
    assert "join begins after 4.5 s" in widget.static().alt and "Task A is killed" in widget.static().alt
    spans = widget.answer(widget.result)["spans"]
    assert spans["A"] == [[0, 0, 0, 1.5, True], [1, 1, 0, 1, False], [1, 0, 1.5, 4.5, False]]
    assert spans["none"] == [[0, 0, 0, 3, False], [1, 1, 0, 1, False]]
    with pytest.raises(traitlets.TraitError):
        widget.killed = "C"


@settings(max_examples=15)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(0, 1))
def test_any_data_and_any_cut_can_be_drawn(values, share):
    cut = round(share * len(values))
    means = tuple(sum(part) / len(part) if part else float("nan") for part in (values[:cut], values[cut:]))
    result = SliceMeans(tuple(values), (cut, len(values) - cut), means, sum(values) / len(values))
    assert "<svg" in slice_means(result).html
