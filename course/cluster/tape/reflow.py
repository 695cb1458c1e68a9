"""What if a bar had taken longer: all that waited for it moves, and nothing else. The twin of `reflow.js`."""

from collections.abc import Sequence

from course.cluster.tape.record import Bar


def reflow(bars: Sequence[Bar], edges: Sequence[tuple[int, int]], lengths: dict[int, int]) -> list[Bar]:
    """Return `bars` as they would stand if those at the places in `lengths` took so many ticks instead.

    `bars` are in the order of their beginnings. A bar begins when three things are there: its process is free (the
    bar before it on its lane has ended), what it waits for has ended (`edges`: pairs of places), and it was asked for.
    What came on top of the last of these, the way of a message, stays as long as it was. Whoever was asked for at a
    fixed moment is still asked for then: nobody recorded what the program would have done later.
    """
    waits_for: dict[int, list[int]] = {}
    for source, target in edges:
        if source < target:  # in the order of beginnings; clocks that differ could claim otherwise
            waits_for.setdefault(target, []).append(source)
    moved: list[Bar] = []
    last: dict[int, int] = {}  # lane -> the place of the bar that ended last on it
    for place, bar in enumerate(bars):
        needed = waits_for.get(place, []) + ([last[bar.lane]] if bar.lane in last else [])
        ready = max([bar.asked, *(bars[place_needed].stop for place_needed in needed)])
        ready_now = max([bar.asked, *(moved[place_needed].stop for place_needed in needed)])
        length = max(0, lengths.get(place, bar.length))
        moved.append(bar._replace(start=bar.start + ready_now - ready, length=length))
        before = last.get(bar.lane)
        if before is None or bar.stop >= bars[before].stop:
            last[bar.lane] = place
    return moved
