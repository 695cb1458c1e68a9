"""A record as Chrome's trace format, which chrome://tracing, Perfetto and speedscope open.

Source: "Trace Event Format", Google, 2016: complete events (X), instant events (i), metadata (M), flows (s, f), in µs.
"""

import json
from pathlib import Path
from typing import Any

from course.cluster.tape.columns import TICK
from course.cluster.tape.record import Record

_MICRO = round(TICK * 1e6)
_ENDED = ("finished", "raised", "lost")


def write_chrome_trace(record: Record, path: str | Path) -> None:
    """Write `record` to the file at `path` as a JSON object of Chrome's trace format; times are in microseconds."""
    header = {"displayTimeUnit": "ms", "otherData": {"label": record.label, "machine": record.machine}}
    events = [*_processes(record), *_bars(record), *_moves(record), *_instants(record)]
    Path(path).write_text(json.dumps({"traceEvents": events} | header, ensure_ascii=False), encoding="utf-8")


def _processes(record):
    for lane, name in enumerate(record.lanes):
        yield _event("M", lane, 0, name="process_name", args={"name": name})
        yield _event("M", lane, 0, name="process_sort_index", args={"sort_index": lane})


def _bars(record):
    for place, bar in enumerate(record.bars):
        args: dict[str, Any] = {"place": place, "ended": _ENDED[bar.ended]}
        if bar.number >= 0:
            args["number"] = bar.number
        yield _event(
            "X", bar.lane, bar.start, name=record.names[bar.name], cat="task", dur=bar.length * _MICRO, args=args
        )
    for number, (source, target) in enumerate(record.edges):
        first, second = record.bars[source], record.bars[target]
        flow = {"name": "waits for", "cat": "edge", "id": number}
        yield _event("s", first.lane, first.stop, **flow)
        yield _event("f", second.lane, max(first.stop, second.start), bp="e", **flow)


def _moves(record):
    """A transfer is a bar on its sender's second row: Chrome draws none between processes."""
    for move in record.moves:
        name = f"{move.nbytes:,} bytes to {record.lanes[move.target]}"
        args = {"bytes": move.nbytes, "to": record.lanes[move.target]}
        yield _event("X", move.source, move.start, 1, name=name, cat="transfer", dur=move.length * _MICRO, args=args)


def _instants(record):
    for event in record.events:
        yield _event("i", event.lane, event.tick, name=event.what, cat="process", s="p", args={"words": event.words})
    for mark in record.marks:
        yield _event("i", mark.lane, mark.tick, name=f"version {mark.number}", cat="version", s="t")


def _event(phase, lane, tick, row=0, **fields):
    return {"ph": phase, "pid": lane, "tid": row, "ts": tick * _MICRO} | fields
