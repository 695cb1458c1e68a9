"""What a tape holds, as plain data: processes, bars, edges, moves, marks, events; to JSON and back."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

_FORMAT = "course-tape 1"
#: The lane of the process that records.
HERE = "this process"
#: The names under which tasks note a training's gradients, and what a rank does before it reduces.
GRADIENT, RANK_STEP = "gradient", "step of a rank"


class Bar(NamedTuple):
    """Something that a process did, from tick `start` for `length` ticks: a task, a gradient.

    `lane`, `name`: places in the record's lists; `asked`: the tick at which it was asked for; `ended`: 0 as it should,
    1 with an error, 2 by its process's death; `number`: of a step, or of the version of its parameters, else -1.
    """

    lane: int
    name: int
    start: int
    length: int
    asked: int
    ended: int = 0
    number: int = -1

    @property
    def stop(self) -> int:
        """The tick at which it ended."""
        return self.start + self.length


class Move(NamedTuple):
    """`nbytes` bytes that went from lane `source` to lane `target`, from tick `start` on for `length` ticks."""

    source: int
    target: int
    start: int
    length: int
    nbytes: int


class Mark(NamedTuple):
    """A new version of the parameters, of this `number`, on the lane of their server, at a tick."""

    lane: int
    tick: int
    number: int


class Event(NamedTuple):
    """What happened to the process of a lane at a tick: "joined", "gone", "killed", "worker lost" …; more `words`."""

    tick: int
    what: str
    lane: int
    words: str = ""


@dataclass(frozen=True, repr=False)
class Record:
    """A tape's contents. Ticks are 10 µs, from the moment at which recording began.

    - `lanes`: names of the processes; `names`: of what they did. `edges`: pairs of places in `bars`: the second waited
      for the first. `end`: the tick at which the last thing ended.
    - `seen`, `one_in`: kind of row -> how many there were, and of how many one is kept.
    - `clocks`: lane -> how its clock was put on the axis. `label`: "measured here" or "recorded"; `machine`, `date`.
    """

    lanes: list[str]
    names: list[str]
    bars: list[Bar]
    edges: list[tuple[int, int]]
    moves: list[Move]
    marks: list[Mark]
    events: list[Event]
    end: int
    seen: dict[str, int] = field(default_factory=dict)
    one_in: dict[str, int] = field(default_factory=dict)
    clocks: dict[str, str] = field(default_factory=dict)
    nbytes: int = 0
    label: str = "measured here"
    machine: str = ""
    date: str = ""

    @property
    def thinned(self) -> str:
        """A sentence that says what was left out; "" where nothing was."""
        words = {"bars": "tasks", "notes": "steps", "moves": "transfers", "edges": "dependencies"}
        parts = [
            f"about one in {one_in} of {self.seen[kind]:,} {words[kind]}"
            for kind, one_in in self.one_in.items()
            if one_in > 1
        ]
        return f"Thinned: the tape has {' and '.join(parts)}." if parts else ""

    @property
    def begin(self) -> int:
        """The tick at which the first work began, or its arguments left; parameter servers get ready before it."""
        workers = {lane for lane, name in enumerate(self.lanes) if not name.startswith("/job:ps/")}
        begun = [bar.start for bar in self.bars if bar.lane in workers]
        begun += [move.start for move in self.moves if self.lanes[move.source] == HERE and move.target in workers]
        return max(0, min(begun, default=0))

    def lives(self, lane: int) -> list[tuple[int, int]]:
        """Return begin and end of each stretch in which the process of `lane` lived: from a join to a death."""
        changes = [event for event in self.events if event.lane == lane and event.what in ("gone", "joined")]
        stretches, begun = [], None if changes and changes[0].what == "joined" else 0
        for event in changes:
            if event.what == "gone" and begun is not None:
                stretches.append((begun, event.tick))
            begun = event.tick if event.what == "joined" else None
        return stretches if begun is None else [*stretches, (begun, self.end)]

    def waits(self) -> dict[int, float]:
        """Return lane -> the part of its process's time, 0 to 1, from `begin` on, in which it lived and did nothing.

        Nothing of a thinned record: what was left out would look like waiting.
        """
        shares: dict[int, float] = {}
        if self.one_in.get("bars", 1) > 1 or self.one_in.get("notes", 1) > 1:
            return shares
        for lane in sorted({bar.lane for bar in self.bars}):
            busy, reached = 0, self.begin
            for bar in sorted((bar for bar in self.bars if bar.lane == lane), key=lambda bar: bar.start):
                busy += max(0, bar.stop - max(bar.start, reached))
                reached = max(reached, bar.stop)
            lived = sum(max(0, end - max(begin, self.begin)) for begin, end in self.lives(lane))
            shares[lane] = max(0.0, 1 - busy / lived) if lived > 0 else 0.0
        return shares


def write(record: Record, path: str | Path) -> None:
    """Write `record` to the file at `path`, as JSON: the rows of each kind by column."""
    data = asdict(record) | {"format": _FORMAT, "label": "recorded"}
    for kind, row in _ROWS.items():
        rows = getattr(record, kind)
        data[kind] = {name: [row_of_kind[place] for row_of_kind in rows] for place, name in enumerate(row._fields)}
    Path(path).write_text(json.dumps(data, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: str | Path) -> Record:
    """Return the `Record` in the file at `path`; ValueError where that has none, OSError where it can't be read."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if data.pop("format") != _FORMAT:
            raise ValueError("another format")
        for kind, row in _ROWS.items():
            columns: dict[str, list[Any]] = data[kind]
            data[kind] = [row(*values) for values in zip(*(columns[name] for name in row._fields), strict=True)]
        return _checked(Record(**data | {"edges": [(source, target) for source, target in data["edges"]]}))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(
            f"Tape.load({str(path)!r}): this is no tape ({type(error).__name__}: {error}). "
            "Use a file that tape.save wrote."
        ) from None


def _checked(record):
    lanes, bars = range(len(record.lanes)), range(len(record.bars))
    where = [bar.lane for bar in record.bars] + [mark.lane for mark in record.marks]
    where += [lane for move in record.moves for lane in (move.source, move.target)]
    if not all(lane in lanes for lane in where + [event.lane for event in record.events]):
        raise ValueError("a row names a process that is not in lanes")
    if not all(place in bars for edge in record.edges for place in edge):
        raise ValueError("an edge names a bar that is not there")
    if not all(bar.length >= 0 and 0 <= bar.name < len(record.names) for bar in record.bars):
        raise ValueError("a bar ends before it begins, or has no name")
    return record


_ROWS: dict[str, Any] = {"bars": Bar, "moves": Move, "marks": Mark, "events": Event}
