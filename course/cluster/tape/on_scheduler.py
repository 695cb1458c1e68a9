"""The part of a recorder that runs in the scheduler: it sees every task end, and who joins, leaves and dies."""

import math
from typing import Any

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.metrics import time

from course.cluster.tape.columns import TICK, Columns, is_kept

#: How a bar ended, as a number in its row.
FINISHED, RAISED, LOST = 0, 1, 2
_LONGEST = 2**31 - 1  # ticks


class TapeOnScheduler(SchedulerPlugin):
    """Notes the tasks of a cluster, and its processes' coming and going, under `name`; at most `limit` rows of a kind.

    Nothing is shared with the process that made it: `notes_taken` returns what it has. Its methods are Dask's hooks.
    """

    def __init__(self, name: str, limit: int):
        self.name, self.limit = name, limit

    async def start(self, scheduler: Scheduler) -> None:
        """Begin, on `scheduler`."""
        self._scheduler, self.zero = scheduler, time()
        self._names: dict[str, int] = {}  # of functions, and of what processes note
        self._lanes: dict[str, int] = {}  # of tasks
        self._lane_at: dict[str, int] = {}  # address -> lane; a dead worker's stays
        self._request_tick: dict[Any, int] = {}  # key -> tick at which it was asked for
        self._runner: dict[Any, tuple[str, int]] = {}  # key -> address and tick of the process that is to run it
        self._number: dict[Any, int] = {}  # key -> the number of its bar
        self._last: dict[int, int] = {}  # lane -> the end of its last bar
        self.bars = Columns(self.limit, lane="H", name="H", start="i", length="i", asked="i", ended="B")
        self.edges = Columns(8 * self.limit, source="I", target="I")
        self.notes = Columns(self.limit, lane="H", name="H", start="i", length="i", number="i", nbytes="q")
        self.moves = Columns(self.limit, source="H", target="h", start="i", length="i", nbytes="q")
        self.lost: list[tuple[int, ...]] = []
        self.events: list[tuple[int, str, int]] = []  # tick, what, lane
        for address, worker in scheduler.workers.items():
            self._lane_at[address] = self._index(self._lanes, str(worker.name))
        scheduler.handlers[self.name] = self.take_notes

    def end(self) -> None:
        """Take no more notes."""
        self._scheduler.handlers.pop(self.name, None)

    def transition(self, key: Any, start: str, finish: str, *args: Any, stimulus_id: str, **kwargs: Any) -> None:
        """Note when a task is asked for, who is to run it, and how it ended."""
        if finish == "waiting":
            self._request_tick[key] = self._tick()
        elif finish == "processing":
            on = self._scheduler.tasks[key].processing_on
            if on is not None:
                self._runner[key] = on.address, self._tick()
        elif start == "processing":
            self._ended(key, finish, kwargs.get("startstops"))
        elif finish == "forgotten":
            self._request_tick.pop(key, None)
            self._runner.pop(key, None)

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Note that a process joined."""
        lane = self._lane_at[worker] = self._index(self._lanes, str(scheduler.workers[worker].name))
        self.events.append((self._tick(), "joined", lane))

    def remove_worker(self, scheduler: Scheduler, worker: str, *, stimulus_id: str, **_: Any) -> None:
        """Note that a process is gone."""
        self.events.append((self._tick(), "gone", self._lane_at.get(worker, 0)))

    async def take_notes(self, worker: str, bars: list[tuple], moves: list[tuple]) -> None:
        """Take what the process at the address `worker` noted: seconds on this scheduler's clock.

        `bars`: (name, start, stop, number, bytes); `moves`: (address that it went to or "", start, stop, bytes).
        """
        lane = self._lane_at.get(worker)
        if lane is None:
            return
        for name, start, stop, number, nbytes in bars:
            self.notes.add(lane, self._index(self._names, name), *self._span(start, stop), number, nbytes)
        for target, start, stop, nbytes in moves:
            self.moves.add(lane, self._lane_at.get(target, -1), *self._span(start, stop), nbytes)

    def notes_taken(self, sent: list[Any]) -> dict[str, Any]:
        """Return all that was noted, as plain data; `sent`: keys of tasks whose bars are asked for."""
        kinds = {"bars": self.bars, "edges": self.edges, "notes": self.notes, "moves": self.moves}
        rows: dict[str, Any] = {kind: columns.rows() for kind, columns in kinds.items()}
        places = self.bars.places()
        pairs = [(places.get(source), places.get(target)) for source, target in rows["edges"]]
        return {
            **rows,
            "edges": [pair for pair in pairs if None not in pair],
            "lost": self.lost,
            "events": self.events,
            "lanes": list(self._lanes),
            "names": list(self._names),
            "sent": [places.get(self._number.get(key, -1)) for key in sent],
            "seen": {kind: [columns.added, columns.one_in] for kind, columns in kinds.items()},
            "nbytes": sum(columns.nbytes for columns in kinds.values()),
            "zero": self.zero,
            "end": self._tick(),
        }

    def _ended(self, key, finish, startstops):
        state = self._scheduler.tasks[key]
        address, sent_tick = self._runner.pop(key, ("", 0))
        lane, request_tick = self._lane_at.get(address), self._request_tick.get(key, 0)
        if lane is None:
            return
        name = self._index(self._names, state.prefix.name if state.prefix else str(key))
        computed = [span_of_task for span_of_task in startstops or () if span_of_task["action"] == "compute"]
        if computed:
            span = self._span(computed[-1]["start"], computed[-1]["stop"])
            self._last[lane] = sum(span)
            number = self.bars.add(lane, name, *span, request_tick, FINISHED if finish == "memory" else RAISED)
            if number is not None:
                self._note_edges(key, number, state.dependencies)
        elif address not in self._scheduler.workers and self._was_first(address, sent_tick):
            begun = max(sent_tick, self._last.get(lane, sent_tick))
            self.lost.append((lane, name, begun, max(0, self._tick() - begun), request_tick, LOST))

    def _note_edges(self, key, number, dependencies):
        self._number[key] = number
        if len(self._number) > 2 * self.limit:
            self._number = {key: bar for key, bar in self._number.items() if is_kept(bar, self.bars.one_in)}
        for dependency in dependencies:
            source = self._number.get(dependency.key)
            if source is not None:
                self.edges.add(source, number)

    def _was_first(self, address, sent_tick):
        """Say whether no other task was given earlier to the process that died: a task runs one at a time."""
        return all(tick >= sent_tick for other, tick in self._runner.values() if other == address)

    def _span(self, start, stop):
        begin = math.floor((start - self.zero) / TICK)
        return self._bounded(begin), self._bounded(max(0, math.floor((stop - self.zero) / TICK) - begin))

    def _tick(self):
        return self._bounded(math.floor((time() - self.zero) / TICK))

    @staticmethod
    def _bounded(tick):
        return max(-_LONGEST, min(_LONGEST, tick))

    @staticmethod
    def _index(numbers, name):
        return numbers.setdefault(name, len(numbers))
