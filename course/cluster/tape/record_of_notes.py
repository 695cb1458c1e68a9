"""What the scheduler, the tasks and this process noted, joined on one axis: which bar waited for which, what moved."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from course.cluster.spec import by_numbers
from course.cluster.tape.columns import is_kept
from course.cluster.tape.record import GRADIENT, HERE, RANK_STEP, Bar, Event, Mark, Move, Record


def record_of_notes(
    notes: dict[str, Any],
    sent: Sequence[tuple[int | None, int, int]],
    events: Sequence[tuple[int, str, str]],
    trainings: Sequence[Any],
    tick: Callable[[float], int],
    limit: int,
) -> Record:
    """Return the `Record` of what was noted.

    - `notes`: by the scheduler's plugin, see there. `sent`: (place of a bar that got arguments, tick at which they
      left, bytes); `events`: (tick, what, task); `trainings`: `TrainingNotes`, whose seconds `tick` makes ticks.
    - `limit`: rows of a kind that a training may add.
    """
    whole = _Joining(notes)
    whole.add_tasks(notes)
    whole.add_moves(notes["moves"], sent)
    for training in trainings:
        whole.add_training(training, tick, limit)
    whole.add_rank_steps()
    whole.add_other_notes()
    return whole.record(notes, events)


class _Joining:
    def __init__(self, notes):
        self.names, tasks = list(notes["names"]), sorted(notes["lanes"], key=by_numbers)
        self.lanes = [HERE, *sorted(tasks, key=lambda task: not task.startswith("/job:ps/"))]
        self._lane = [self.lanes.index(task) for task in notes["lanes"]]  # as the scheduler counts -> here
        self.bars, self.edges, self.moves, self.marks, self.events = [], [], [], [], []
        self.one_in = {}
        self._notes = defaultdict(list)  # (lane, name) -> (start, stop, number, bytes), in order
        for lane, name, start, length, number, nbytes in notes["notes"]:
            self._notes[self._lane[lane], self.names[name]].append((start, start + length, number, nbytes))
        for rows in self._notes.values():
            rows.sort()

    def add_tasks(self, notes):
        """Add the tasks, but those in which their process noted what it did: its steps stand for them."""
        inside = defaultdict(list)
        for (lane, _), rows in self._notes.items():
            inside[lane] = sorted(inside[lane] + [start for start, *_ in rows])
        self._place = {}  # of a bar that the scheduler noted -> of its bar here
        for place, (lane, name, start, length, requested, ended) in enumerate([*notes["bars"], *notes["lost"]]):
            at = self._lane[lane]
            if bisect_right(inside[at], start + length) > bisect_right(inside[at], start - 1):
                continue
            self._place[place] = self._add(Bar(at, name, start, length, requested, ended))
        for source, target in notes["edges"]:
            if source in self._place and target in self._place:
                self.edges.append((self._place[source], self._place[target]))

    def add_moves(self, moves, sent):
        """Add the transfers between tasks, to this process, and from it: arguments arrive when their task begins."""
        for source, target, start, length, nbytes in moves:
            self.moves.append(Move(self._lane[source], 0 if target < 0 else self._lane[target], start, length, nbytes))
        for place, departed, nbytes in sent:
            if place in self._place:
                bar = self.bars[self._place[place]]
                self.moves.append(Move(0, bar.lane, departed, max(0, bar.start - departed), nbytes))

    def add_training(self, training, tick, limit):
        """Add a training: gradients, pushes and pulls, versions; a worker waits for the update that it pushed to."""
        servers = [self._lane_of(task) for task in training.ps]
        workers = [self._lane_of(task) for task in training.workers]
        rows, one_in = _thinned(training.rows, limit // (3 + len(servers)))
        self.one_in["notes"] = max(one_in, self.one_in.get("notes", 1))
        bars, late = self._gradients(rows, workers, tick, training.zero)
        by_step, last = defaultdict(list), {}  # step -> its bars; worker -> (step, tick of the answer)
        each = training.nbytes // max(1, len(servers))
        for (step, worker, _, arrived, applied), bar in zip(rows, bars, strict=True):
            place = self._add(bar)
            for server in servers:
                self.moves.append(Move(bar.lane, server, bar.stop, max(0, tick(arrived) - late - bar.stop), each))
                if worker in last:
                    self.moves.append(Move(server, bar.lane, last[worker][1], bar.start - last[worker][1], each))
            if worker in last:
                self.edges += [(other, place) for other in by_step[last[worker][0]]]
            if step not in by_step and servers:
                self.marks.append(Mark(servers[0], tick(applied) - late, step))
            by_step[step].append(place)
            last[worker] = step, tick(applied) - late
        for seconds, change, task, words in training.events:
            if task in self.lanes:
                self.events.append(Event(tick(seconds), change, self.lanes.index(task), words))
        for worker in workers if one_in > 1 else ():
            self._notes.pop((worker, GRADIENT), None)

    def _gradients(self, rows, workers, tick, zero):
        """Return the bar of each row's gradient, and by how many ticks the training's clock is behind the tasks'.

        The driver set that clock by a shard's first answer, which took a moment to come; no answer comes before it is
        sent, so it is behind by that much at least.
        """
        answered, bars, late = {}, [], 0
        for _, worker, version, arrived, applied in rows:
            bar = self._gradient(workers[worker], version, answered.get(worker, tick(zero)), tick(arrived))
            late = max(late, answered.get(worker, bar.start) - bar.start)
            answered[worker] = tick(applied)
            bars.append(bar)
        return bars, late

    def _gradient(self, lane, version, begun, arrived):
        """Return the bar of a gradient: as its worker noted it, else from the answer before it to its arrival."""
        rows = self._notes[lane, GRADIENT]
        own = [row for row in rows if row[2] == version and row[0] <= arrived]
        if not own:
            return Bar(lane, self._name(GRADIENT), begun, max(0, arrived - begun), begun, 0, version)
        rows.remove(own[-1])
        start, stop, *_ = own[-1]
        return Bar(lane, self._name(GRADIENT), start, stop - start, start, 0, version)

    def add_rank_steps(self):
        """Add what ranks do between reductions: each waits for all, and sends around the ring."""
        lanes = sorted(lane for lane, name in self._notes if name == RANK_STEP)
        rounds = [list(_runs(self._notes.pop((lane, RANK_STEP)))) for lane in lanes]
        for group in zip(*rounds, strict=False):  # of one call, all ranks
            before = []
            for rows in zip(*group, strict=False):  # of one step
                places = []
                for lane, (start, stop, number, _) in zip(lanes, rows, strict=True):
                    places.append(self._add(Bar(lane, self._name(RANK_STEP), start, stop - start, start, 0, number)))
                self.edges += [(other, place) for place in places for other in before]
                self._send_around(lanes, before, places)
                before, self._bytes = places, [row[3] for row in rows]

    def _send_around(self, lanes, before, places):
        for rank, place in enumerate(before):
            after = (rank + 1) % len(lanes)
            start, stop = self.bars[place].stop, self.bars[places[after]].start
            if self._bytes[rank]:
                self.moves.append(Move(lanes[rank], lanes[after], start, max(0, stop - start), self._bytes[rank]))

    def add_other_notes(self):
        """Add the notes that no training and no ring has taken: a gradient that was dropped, or lost."""
        for (lane, name), rows in sorted(self._notes.items()):
            for start, stop, number, _ in rows:
                self._add(Bar(lane, self._name(name), start, stop - start, start, 0, number))

    def record(self, notes, events):
        """Return the `Record`: bars in the order of their beginnings, and no lane that nothing happened on."""
        for at, change, lane in notes["events"]:
            self.events.append(Event(at, change, self._lane[lane]))
        self.events += [Event(at, change, self.lanes.index(task)) for at, change, task in events if task in self.lanes]
        order = sorted(range(len(self.bars)), key=lambda place: (self.bars[place].start, place))
        now_at = {place: at for at, place in enumerate(order)}
        edges = sorted({(now_at[source], now_at[target]) for source, target in self.edges})
        ends = [bar.stop for bar in self.bars] + [move.start + move.length for move in self.moves]
        ends += [mark.tick for mark in self.marks] + [event.tick for event in self.events]
        counts = {kind: count for kind, (count, _) in notes["seen"].items()}
        one_in = {kind: stride for kind, (_, stride) in notes["seen"].items()}
        one_in["notes"] = max(one_in["notes"], self.one_in.get("notes", 1))
        return Record(
            self.lanes,
            self.names,
            [self.bars[place] for place in order],
            edges,
            sorted(self.moves, key=lambda move: move.start),
            sorted(self.marks, key=lambda mark: mark.tick),
            sorted(self.events),
            max(ends, default=notes["end"]),
            counts,
            one_in,
            nbytes=notes["nbytes"],
        )

    def _add(self, bar):
        self.bars.append(bar)
        return len(self.bars) - 1

    def _name(self, name):
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _lane_of(self, task):
        if task not in self.lanes:
            self.lanes.append(task)
        return self.lanes.index(task)


def _thinned(rows, limit):
    """Return about one in 1, 2, 4 … of a training's rows, at most `limit`, whole steps; and of how many one is kept."""
    one_in, rows_left = 1, rows
    while len(rows_left) > limit:
        one_in *= 2
        rows_left = [row for row in rows if is_kept(row[0], one_in)]
    return rows_left, one_in


def _runs(rows: list[tuple]) -> Iterator[list[tuple]]:
    """Yield the rows of each call: the number of the step begins anew with it."""
    run: list[tuple] = []
    for row in rows:
        if run and row[2] <= run[-1][2]:
            yield run
            run = []
        run.append(row)
    if run:
        yield run
