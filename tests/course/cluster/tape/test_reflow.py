"""What if a bar were longer: only what waited for it moves, as far as it must, and a run left alone stays as it was."""

from hypothesis import given
from hypothesis import strategies as st

from course.cluster.tape.record import Bar
from course.cluster.tape.reflow import reflow


@st.composite
def runs(draw):
    """Bars that could have been: on up to four lanes, one after another, each after what it waited for; and edges."""
    bars, edges, free = [], [], {}
    start = 0
    for place in range(draw(st.integers(1, 14))):
        lane, asked = draw(st.integers(0, 3)), draw(st.integers(0, 300))
        sources = draw(st.sets(st.integers(0, place - 1), max_size=3)) if place else set()
        ready = max([start, asked, free.get(lane, 0), *(bars[one].stop for one in sources)])
        start = ready + draw(st.integers(0, 40))
        bars.append(Bar(lane, 0, start, draw(st.integers(0, 100)), asked))
        edges += [(source, place) for source in sources]
        free[lane] = bars[-1].stop
    return bars, edges


def descendants(bars, edges, place):
    """The slow way: all that waits for a bar, on its lane or by an edge, and what waits for those."""
    found, waiting = set(), [place]
    while waiting:
        one = waiting.pop()
        lane = [other for other in range(one + 1, len(bars)) if bars[other].lane == bars[one].lane][:1]
        for other in [*lane, *(target for source, target in edges if source == one)]:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


@given(runs())
def test_a_run_that_nothing_changes_stays_as_it_was(run):
    bars, edges = run
    assert reflow(bars, edges, {}) == bars


@given(runs(), st.data())
def test_only_what_waited_for_a_longer_bar_moves_later_and_no_further_than_the_bar_grew(run, data):
    bars, edges = run
    place, more = data.draw(st.integers(0, len(bars) - 1)), data.draw(st.integers(0, 500))
    moved = reflow(bars, edges, {place: bars[place].length + more})
    late = {other for other, bar in enumerate(moved) if bar.start != bars[other].start}
    assert late <= descendants(bars, edges, place)
    assert all(bars[other].start < moved[other].start <= bars[other].start + more for other in late)
    assert moved[place].length == bars[place].length + more
    for source, target in edges:
        assert moved[target].start >= moved[source].stop


@given(runs(), st.data())
def test_what_waited_for_nothing_but_the_bar_moves_as_far_as_it_grew(run, data):
    bars, edges = run
    place = data.draw(st.integers(0, len(bars) - 1))
    start = bars[place].stop + 7
    chain = [bars[place], Bar(9, 0, start, 5, 0), Bar(8, 0, start + 9, 5, 0)]
    moved = reflow(chain, [(0, 1), (1, 2)], {0: chain[0].length + 33})
    assert [bar.start for bar in moved[1:]] == [start + 33, start + 42]


@given(runs(), st.data())
def test_a_bar_made_longer_and_as_long_as_before_again_changes_nothing(run, data):
    bars, edges = run
    place = data.draw(st.integers(0, len(bars) - 1))
    assert reflow(bars, edges, {place: bars[place].length}) == bars
