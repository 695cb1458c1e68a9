"""`with cluster.record() as tape:`, and a tape's methods: a table, "what if", storing and export."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import course
from course.cluster.tape.chrome import write_chrome_trace
from course.cluster.tape.columns import TICK
from course.cluster.tape.record import Record, read, write
from course.cluster.tape.recorder import Recorder
from course.cluster.tape.reflow import reflow
from course.units import short_bytes

if TYPE_CHECKING:
    from course.draw import Picture
    from course.widgets import ClusterTimeline


class Tape:
    """What a cluster did: each task, each transfer and its bytes, joins and deaths, steps and versions of a training.

    `cluster.record()` makes one that records until it is closed, by the end of its `with` or by `close()`; `Tape.load`
    one that was stored. `record` has the data. After an error inside the `with`, the tape has what happened until then.
    Up to 5,000 rows of a kind are kept; of more about every second, fourth, … and its words say so.
    """

    def __init__(self, source: Recorder | Record):
        self._recorder = source if isinstance(source, Recorder) else None
        self._record = source if isinstance(source, Record) else None

    @property
    def is_recording(self) -> bool:
        """Whether it still records."""
        return self._recorder is not None

    @property
    def recorder(self) -> Recorder:
        """What takes notes while this records; RuntimeError afterwards."""
        if self._recorder is None:
            raise RuntimeError("this tape has ended; start another one with cluster.record()")
        return self._recorder

    @property
    def record(self) -> Record:
        """The `Record` of what happened; RuntimeError while the tape records."""
        if self._record is None:
            raise RuntimeError("this tape still records: leave its `with`, or call tape.close(), and ask then")
        return self._record

    def close(self) -> None:
        """End the recording; a second call does nothing. A cluster that is lost leaves an empty tape, which says so."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            self._record = recorder.stop()
        except Exception as error:  # Dask, of a lost scheduler: CommClosedError, TimeoutError, plain Exception
            self._record = _nothing(f"the cluster was gone before its tape was closed ({type(error).__name__})")
        finally:
            self._record = self._record or _nothing("its closing was interrupted")

    def timeline(self, beside: "Tape | str | None" = None) -> "ClusterTimeline":
        """Return `course.widgets.ClusterTimeline(tape, beside)`. Deprecated: say that, and this goes in version 0.2."""
        warnings.warn("tape.timeline(…) is deprecated: say widgets.ClusterTimeline(tape, …)", DeprecationWarning, 2)
        return course.widgets.ClusterTimeline(self, beside)

    def what_if(self, bar: int, seconds: float) -> "Tape":
        """Return the tape as it would be if the bar of this number, as in `table()`, had taken `seconds`.

        All that waited for it moves, and nothing else; see `reflow`. Bytes and marks stay where they were recorded, so
        they are left out. Raises ValueError for a bar that isn't there, or a length below 0.
        """
        record = self.record
        if not 0 <= bar < len(record.bars) or seconds < 0:
            raise ValueError(
                f"tape.what_if({bar}, {seconds}): give a bar's number, 0 to {len(record.bars) - 1}, and "
                "seconds from 0 up."
            )
        bars = reflow(record.bars, record.edges, {bar: round(seconds / TICK)})
        changed = {"bars": bars, "moves": [], "marks": [], "end": max(bar_moved.stop for bar_moved in bars)}
        words = f"what if bar {bar} took {1000 * seconds:g} ms"
        return Tape(Record(**{**vars(record), **changed, "label": words}))

    def table(self) -> "Picture":
        """Return the run as a table: who did what, from when to when, and what it waited for."""
        from course.draw import table  # a task, which imports this too, draws nothing

        record = self.record
        waited: dict[int, list[str]] = {}
        for source, target in record.edges:
            waited.setdefault(target, []).append(str(source))
        rows = [
            [
                place,
                record.lanes[bar.lane],
                record.names[bar.name],
                f"{bar.start * TICK * 1e3:.1f}",
                f"{bar.length * TICK * 1e3:.1f}",
                ("", "raised", "lost")[bar.ended],
                ", ".join(waited.get(place, [])),
            ]
            for place, bar in enumerate(record.bars)
        ]
        headings = ["bar", "process", "what", "begins, ms", "takes, ms", "", "waited for"]
        return table(headings, rows, repr(self), caption=self._words())

    def chrome_trace(self, path: str | Path) -> None:
        """Write the run to the file at `path` in Chrome's trace format, for chrome://tracing or Perfetto."""
        write_chrome_trace(self.record, path)

    def save(self, path: str | Path) -> None:
        """Write the tape to the file at `path`, as JSON, marked as recorded, with the machine and the date."""
        write(self.record, path)

    @classmethod
    def load(cls, path: str | Path) -> "Tape":
        """Return the tape that `save` wrote to `path`; ValueError where there is none, OSError for no file."""
        return cls(read(path))

    @classmethod
    def stored(cls, name: str) -> "Tape":
        """Return a tape that comes with the course, such as "mean"; ValueError, with all names, for another one."""
        folder = Path(__file__).parent / "recorded"
        names = sorted(path.stem for path in folder.glob("*.json"))
        if name not in names:
            raise ValueError(f"Tape.stored({name!r}): the tapes that come with the course are {', '.join(names)}.")
        return cls.load(folder / f"{name}.json")

    def __enter__(self) -> "Tape":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self):
        return "Tape(recording)" if self._record is None else f"Tape({self._words()})"

    def _words(self):
        record = self.record
        parts = [f"{len(record.bars):,} bars on {len({bar.lane for bar in record.bars})} processes"]
        if record.moves:
            parts.append(f"{len(record.moves):,} transfers of {short_bytes(sum(move.nbytes for move in record.moves))}")
        if died := sum(event.what == "gone" for event in record.events):
            parts.append(f"{died} gone")
        sentence = f"{', '.join(parts)}, {record.end * TICK:.3g} s, {record.label}"
        return f"{sentence}. {record.thinned}" if record.thinned else sentence


def _nothing(why):
    return Record([], [], [], [], [], [], [], 0, label=f"nothing: {why}")
