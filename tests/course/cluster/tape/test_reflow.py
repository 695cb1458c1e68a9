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
        ready = max([start, asked, free.get(lane, 0), *(bars[source].stop for source in sources)])
        start = ready + draw(st.integers(0, 40))
        bars.append(Bar(lane, 0, start, draw(st.integers(0, 100)), asked))
        edges += [(source, place) for source in sources]
        free[lane] = bars[-1].stop
    return bars, edges


def descendants(bars, edges, place):
    """The slow way: all that waits for a bar, on its lane or by an edge, and what waits for those."""
    later, waiting = set(), {place}
    while waiting:
        place = waiting.pop()
        lane = [other for other in range(place + 1, len(bars)) if bars[other].lane == bars[place].lane][:1]
        waiting |= {*lane, *(target for source, target in edges if source == place)} - later
        later |= waiting
    return later


@given(runs(), st.data())
def test_a_run_that_nothing_changes_stays_as_it_was(run, data):
    bars, edges = run
    place = data.draw(st.integers(0, len(bars) - 1))
    assert reflow(bars, edges, {}) == reflow(bars, edges, {place: bars[place].length}) == bars


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


@given(st.builds(Bar, st.integers(0, 3), st.just(0), st.integers(0, 300), st.integers(0, 100), st.just(0)))
def test_what_waited_for_nothing_but_the_bar_moves_as_far_as_it_grew(bar):
    start = bar.stop + 7
    chain = [bar, Bar(9, 0, start, 5, 0), Bar(8, 0, start + 9, 5, 0)]
    moved = reflow(chain, [(0, 1), (1, 2)], {0: bar.length + 33})
    assert [after.start for after in moved[1:]] == [start + 33, start + 42]
