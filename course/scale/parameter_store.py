"""A parameter server and its workers, simulated: who computes on which version, who waits, how late each gradient is.

Time is in whole microseconds: `course/widgets/exhibits/store_run.js` does the same in a page, with the same numbers.
A recorded training becomes rows of the same kind, so that one picture shows both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import floor
from typing import Any, NamedTuple

from course.scale.chance import uniforms

MODES = ("async", "sync")
ACTIONS = ("kill", "revive")
#: Microseconds that a message takes, one way, and that the server takes to make an update.
MESSAGE, UPDATE = 40_000, 5_000
#: The simulated seconds, in microseconds.
HORIZON = 6_000_000
#: A gradient takes its worker's pace times this, and up to so much more by chance.
_QUICKEST, _SPREAD = 0.8, 0.4
NEVER = -1


class Gradient(NamedTuple):
    """One turn of a worker; microseconds, NEVER for what did not happen.

    It pulls `version` at `sent`, computes from `begins` to `ends`; its push `arrives` and is part of update `step` at
    `applied`. At `freed` the worker goes on: then, or when it is killed. `step` is NEVER where the push was refused, as
    a synchronous one of an old version is; `arrives` where the worker died while it computed.
    """

    worker: int
    version: int
    sent: int
    begins: int
    ends: int
    arrives: int
    applied: int
    freed: int
    step: int


class Counts(NamedTuple):
    """What had happened by a moment: `updates`, `gradients` in them; `late`, the sum of their staleness, `oldest`, the
    largest; `waited`: of each worker, microseconds between the arrival of a push and the answer.
    """

    updates: int
    gradients: int
    late: int
    oldest: int
    waited: tuple[int, ...]


@dataclass(frozen=True)
class StoreRun:
    """What `workers` workers did until `horizon` (microseconds): a row each turn, in order; `faults` as they were."""

    workers: int
    horizon: int
    gradients: tuple[Gradient, ...]
    faults: tuple[tuple[int, str, int], ...] = ()

    def counts(self, moment: int | None = None) -> Counts:
        """Return the `Counts` at the microsecond `moment`, by default at the end."""
        moment = self.horizon if moment is None else moment
        used = [gradient for gradient in self.gradients if gradient.step != NEVER and gradient.applied <= moment]
        ages = [gradient.step - 1 - gradient.version for gradient in used]
        waited = [0] * self.workers
        for gradient in self.gradients:
            if gradient.arrives != NEVER and gradient.arrives < moment:
                until = moment if gradient.freed == NEVER else min(gradient.freed, moment)
                waited[gradient.worker] += max(0, until - gradient.arrives)
        steps = {gradient.step for gradient in used}
        return Counts(len(steps), len(used), sum(ages), max(ages, default=0), tuple(waited))

    def lateness(self, worker: int) -> float:
        """Return the mean staleness of a worker's gradients, in updates; 0 where it had none."""
        ages = [
            gradient.step - 1 - gradient.version
            for gradient in self.gradients
            if gradient.worker == worker and gradient.step != NEVER
        ]
        return sum(ages) / len(ages) if ages else 0.0


def parameter_store(
    mode: str, paces: Sequence[int], faults: Iterable[tuple[int, str, int]] = (), seed: int = 0, horizon: int = HORIZON
) -> StoreRun:
    """Return the `StoreRun` of workers that take `paces` (microseconds, give or take a fifth) for a gradient.

    - `mode`: "async", each push is an update at once; "sync", an update is the mean of a gradient of every worker that
      lives, all of one version; one of an older version is refused.
    - `faults`: (microsecond, "kill" or "revive", worker). A killed worker loses the gradient that it computes; what it
      has sent arrives. A new process comes in its place with "revive", and pulls the version that there is.

    A worker's chances are its own, so another pace, or a death, changes no other worker's. Raises ValueError for
    another mode, a pace below a microsecond, or a fault of a worker that isn't there.
    """
    planned = tuple(sorted((int(at), str(action), int(worker)) for at, action, worker in faults))
    _check(mode, paces, planned, horizon)
    return _Store(mode, paces, planned, seed, horizon).run()


def recorded_run(history: Any, limit: int = 300) -> StoreRun:
    """Return the first `limit` gradients of a training's history as a `StoreRun`, which ends with the last of them.

    `history`: rows with `step`, `worker`, `version`, `arrived` and `applied` (seconds), as in `TrainingResult.history`.
    The messages' own times are not in it: a turn begins with the answer to the one before, the first one at 0.
    """
    rows, begins = [], {}
    names = ["step", "worker", "version", "arrived", "applied"]
    for step, worker, version, arrived, applied in history[names][:limit].tolist():
        at, done = round(1e6 * arrived), round(1e6 * applied)
        since = begins.get(worker, 0)
        rows.append(Gradient(worker, version, since, since, at, at, done, done, step))
        begins[worker] = done
    workers = 1 + max((int(worker) for worker in begins), default=0)
    end = max((row.applied for row in rows), default=1)
    return StoreRun(workers, max(1, end), tuple(sorted(rows, key=_order)))


def _order(gradient):
    return gradient.sent, gradient.worker


def _check(mode, paces, faults, horizon):
    if mode not in MODES:
        raise ValueError(f"parameter_store(mode={mode!r}): use one of {', '.join(map(repr, MODES))}.")
    if not paces or min(paces) < 1 or horizon < 1:
        settings = f"paces={list(paces)}, horizon={horizon}"
        raise ValueError(
            f"parameter_store({settings}): give one pace a worker, and a horizon, in microseconds from 1 up."
        )
    for at, action, worker in faults:
        if action not in ACTIONS or not 0 <= worker < len(paces) or at < 0:
            raise ValueError(
                f"parameter_store(faults=[({at}, {action!r}, {worker})]): give (microsecond, 'kill' or 'revive', "
                f"worker), workers being 0 to {len(paces) - 1}."
            )


class _Store:
    """The simulation while it runs: what is to come lies in a heap, by time; deaths come before arrivals."""

    def __init__(self, mode, paces, faults, seed, horizon):
        self._sync, self._paces, self._faults, self._horizon = mode == "sync", paces, faults, horizon
        self._chance = [uniforms(1000 * seed + worker) for worker in range(len(paces))]
        self._rows: list[list[int]] = []
        self._turn = [NEVER] * len(paces)  # each worker's row; NEVER: it is dead
        self._free = self._version = 0
        self._waiting: list[int] = []  # rows
        self._coming = [(at, 0, worker, place) for place, (at, _, worker) in enumerate(faults)]
        self._coming.sort()

    def run(self):
        for worker in range(len(self._paces)):
            self._answer(0, worker)
        while self._coming and self._coming[0][0] < self._horizon:
            moment, kind, worker, place = heappop(self._coming)
            if kind:
                self._arrives(moment, worker, place)
            elif self._faults[place][1] == "kill":
                self._kill(moment, worker)
            elif self._turn[worker] == NEVER:
                self._answer(max(moment, self._free), worker)
        rows = tuple(sorted((Gradient(*row) for row in self._rows), key=_order))
        return StoreRun(len(self._paces), self._horizon, rows, self._faults)

    def _answer(self, moment, worker):
        takes = floor(self._paces[worker] * (_QUICKEST + _SPREAD * next(self._chance[worker])))
        begins = moment + MESSAGE
        arrives = begins + takes + MESSAGE
        self._turn[worker] = len(self._rows)
        heappush(self._coming, (arrives, 1, worker, len(self._rows)))
        self._rows.append([worker, self._version, moment, begins, begins + takes, arrives, NEVER, NEVER, NEVER])

    def _kill(self, moment, worker):
        place, self._turn[worker] = self._turn[worker], NEVER
        if place == NEVER:
            return
        row = self._rows[place]
        ended = max(moment, row[2])
        if moment < row[4]:  # it computes, or waits for its parameters: this gradient never arrives
            row[3], row[4], row[5] = min(row[3], ended), ended, NEVER
        row[7] = ended
        if self._sync:
            self._release(moment)

    def _arrives(self, moment, worker, place):
        row = self._rows[place]
        if row[5] == NEVER:
            return
        if self._sync and row[1] != self._version:  # of a worker that died; its step was made without it
            row[6] = moment
            return
        if not self._sync:
            self._waiting.append(place)
            self._apply(moment)
            return
        for old in [pushed for pushed in self._waiting if self._rows[pushed][0] == worker]:  # its process died since
            self._waiting.remove(old)
            self._rows[old][6] = moment
        self._waiting.append(place)
        self._release(moment)

    def _release(self, moment):
        """Make a synchronous update if every worker that lives has its gradient here."""
        if self._waiting and all(turn in self._waiting for turn in self._turn if turn != NEVER):
            self._apply(moment)

    def _apply(self, moment):
        self._free, self._version = max(self._free, moment) + UPDATE, self._version + 1
        used, self._waiting = sorted(self._waiting, key=lambda place: (self._rows[place][0], place)), []
        for place in used:
            row = self._rows[place]
            row[6], row[8] = self._free, self._version
            if self._turn[row[0]] == place:
                row[7] = self._free
        for place in used:
            if self._turn[self._rows[place][0]] == place:
                self._answer(self._free, self._rows[place][0])
