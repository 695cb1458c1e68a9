"""`ClusterTimeline`: a run of a cluster that is played back, from its tape."""

from typing import TYPE_CHECKING, Any

from course.draw import ROLES, Picture, figure, picture, worker_colour
from course.draw.timeline import strokes
from course.units import in_words, short_bytes
from course.widgets.exhibits.page import key_of, page
from course.widgets.exhibits.page_files import files_of

if TYPE_CHECKING:
    from course.cluster.tape.record import Record
    from course.cluster.tape.tape import Tape

_TICK = 1e-5  # seconds
_TOOLS = ("scales.js", "axes.js", "controls.js", "scrubber.js", "reflow.js", "task_graph.js", "timeline_scene.js")
_FILES = ("cluster_timeline.css", *_TOOLS, "cluster_timeline.js")


class ClusterTimeline:
    """Processes as lanes, what they did as bars, bytes on their way; play it, step, zoom, and drag a bar longer.

    - `tape`: of `cluster.record()`, or its `Record`. `beside`: another one on the same axis, or the name of a tape that
      comes with the course, or None.

    The page draws from their records, and works out what if a bar had been longer; no kernel is needed.
    `tape.what_if(bar, seconds)` is the same in Python, `tape.table()` a text alternative. Raises ValueError for records
    in which nothing happened.
    """

    def __init__(self, tape: "Tape | Record", beside: "Tape | Record | str | None" = None):
        self.records = [_record(run) for run in (tape, beside) if run is not None]
        if not any(record.bars for record in self.records):
            raise ValueError(
                f"ClusterTimeline(tape): no task ran while it was recorded ({self.records[0].label}), so there is "
                "nothing to play. Record a `with` in which the cluster works."
            )

    @property
    def finding(self) -> str:
        """What the first record shows, in a sentence."""
        record = self.records[0]
        waits = record.waits()
        workers = {lane: share for lane, share in waits.items() if not record.lanes[lane].startswith("/job:ps/")}
        most = max(workers, key=lambda lane: workers[lane], default=None)
        parts = [] if most is None else [f"{_short_name(record.lanes[most])} waits {workers[most]:.0%} of its time"]
        if record.moves:
            parts.append(f"{short_bytes(sum(move.nbytes for move in record.moves))} move")
        for event in record.events:
            if event.what == "gone":
                parts.append(f"{_short_name(record.lanes[event.lane])} dies at {in_words(event.tick * _TICK)}")
        sentence = ", ".join(parts[:4])
        return f"{sentence[:1].upper()}{sentence[1:]}. {record.thinned}".strip()

    def close(self) -> None:
        """Do nothing, as there is no kernel behind it; other exhibits end what theirs does."""

    def static(self) -> Picture:
        """Return a picture of the whole run; it needs neither a kernel nor scripts."""
        rows = [(record, lane) for record in self.records for lane in _used(record)]
        end = max(record.end for record in self.records)
        unit, scale = ("s", _TICK) if end * _TICK >= 1 else ("ms", 1e3 * _TICK)
        with figure(title=self._title(), figsize=(7.2, 0.9 + 0.42 * len(rows))) as (fig, axes):
            for place, (record, lane) in enumerate(rows):
                self._lane(axes, place, record, lane, scale)
            for record in self.records:
                at = {lane: place for place, (run, lane) in enumerate(rows) if run is record}
                ways = [
                    ((scale * move.start, at[move.source]), (scale * (move.start + move.length), at[move.target]))
                    for move in record.moves[:: 1 + len(record.moves) // 300]
                ]
                axes.plot(*strokes(ways), color=ROLES["bytes"].colour, linewidth=0.5, alpha=0.5)
                gone = [(scale * event.tick, at[event.lane]) for event in record.events if event.what == "gone"]
                axes.plot([x for x, _ in gone], [y for _, y in gone], "x", color=ROLES["error"].colour, markersize=9)
            labels = " above, ".join(record.label for record in self.records)
            axes.set(xlim=(0, scale * end), xlabel=f"{unit}; {labels}")
            axes.set_yticks(range(len(rows)), [_sign(record.lanes[lane]) for record, lane in rows])
            axes.invert_yaxis()
        return picture(fig, self._alt())

    def _title(self):
        record = self.records[0]
        lanes, seconds = len({bar.lane for bar in record.bars}), in_words(record.end * _TICK)
        return f"{len(record.bars):,} bars on {lanes} processes, {seconds}, {record.label}"

    def _alt(self):
        waits = [
            f"{_short_name(record.lanes[lane])} waits {share:.0%}"
            for record in self.records
            for lane, share in list(record.waits().items())[:8]
        ]
        return f"{self._title()}. {self.finding} A lane a process, a bar a task. {'; '.join(waits)}."

    @staticmethod
    def _lane(axes, place, record, lane, scale):
        name = record.lanes[lane]
        colour = ROLES["ps"].colour if name.startswith("/job:ps/") else worker_colour(lane - 1)
        bars = [(scale * bar.start, scale * bar.stop) for bar in record.bars if bar.lane == lane]
        look = {"linewidth": 14, "solid_capstyle": "butt", "alpha": 0.6 if _stored(record) else 1.0}
        axes.plot(*strokes([((begin, place), (end, place)) for begin, end in bars]), color=colour, **look)
        marks = [scale * mark.tick for mark in record.marks if mark.lane == lane]
        marks = marks[:: 1 + len(marks) // 150]
        axes.plot(marks, [place] * len(marks), "D", color=ROLES["ps"].colour, markersize=3)

    def __repr__(self) -> str:
        return f"ClusterTimeline({self._title()}: {self.finding})"

    def _repr_mimebundle_(self, include=None, exclude=None):
        runs = [_plain(record) for record in self.records]
        data: dict[str, Any] = {"runs": runs, "finding": self.finding, "alt": self._alt(), "source": self._source()}
        shown = page(key_of(data), data, files_of(*_FILES), self.static())
        return {"text/plain": repr(self), "text/html": shown.html}

    def _source(self):
        sources = []
        for record in self.records:
            how = next(iter(record.clocks.values()), "")
            thinned = f" ({record.thinned})" if record.thinned else ""
            sources.append(f"{_headed(record, record.machine)}; {how}{thinned}.")
        return " ".join(sources)


def _record(run):
    """Return the `Record` of a tape, of one by its name, or of what is one already."""
    if isinstance(run, str):
        from course.cluster.tape.tape import Tape  # loads Dask

        run = Tape.stored(run)
    return getattr(run, "record", run)


def _plain(record):
    """Return what the page draws of a record: rows as lists."""
    processor = record.machine.partition(",")[0]  # all of it stands below: a phone's line is short
    words = {"title": _headed(record, processor), "recorded": _stored(record), "thinned": bool(record.thinned)}
    lanes = {"lanes": record.lanes, "names": record.names, "begin": record.begin, "end": record.end}
    kinds = "bars", "edges", "moves", "marks", "events"
    return {**words, **lanes, **{kind: [list(row) for row in getattr(record, kind)] for kind in kinds}}


def _stored(record):
    return record.label == "recorded"


def _headed(record, machine):
    return f"{record.label}: {machine}, {record.date}" if _stored(record) else record.label


def _used(record):
    """Return the lanes on which something happened."""
    lanes = {bar.lane for bar in record.bars} | {mark.lane for mark in record.marks}
    lanes |= {lane for move in record.moves for lane in (move.source, move.target)}
    return sorted(lanes | {event.lane for event in record.events})


def _short_name(name):
    return name.removeprefix("/job:").replace("/task:", " ")


def _sign(name):
    job, _, index = name.removeprefix("/job:").partition("/task:")
    sign = ROLES["ps"].sign if job == "ps" else ROLES["worker"].sign
    return f"{sign} {job} {index}" if index else "○ this notebook"
