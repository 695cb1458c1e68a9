"""The driver's data while shards come and go: records on one clock, parameters and snapshots."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch

from course.training.checkpoint.snapshot import Snapshot
from course.training.driver.shard_client import ShardClient
from course.training.records import RECORD


class History:
    """The training that led to the present parameters, over all incarnations, as the driver reads it from the shards.

    Every incarnation's server counts seconds from its own start; here they become seconds since the first one's.
    `parameters`: name to tensor, the first ones. `start`: the `Snapshot` that training goes on from, or None.
    `version`: of the last update read, at first of the checkpoint to go on from; `status`: the last one read.
    """

    def __init__(self, parameters: dict[str, torch.Tensor], start: Snapshot | None):
        self.version = start.version if start else 0
        self.status: dict[str, Any] = {}
        self._client: Any = None  # the `ShardClient` of the present shards
        self._snapshot, self._parameters = start, start.parameters if start else parameters
        self._rows: list[numpy.ndarray] = []
        self._events: list[tuple] = []
        self._returned = 0  # how many of these arrays `new` has returned
        self._read = self._events_read = 0  # of this incarnation's server
        self._origin: float | None = None  # on this process's monotonic clock: when the first server's clock was 0
        self._shift, self._set = 0.0, False

    @contextmanager
    def of(self, client: ShardClient) -> Iterator[None]:
        """Within the `with`, read from the client's shards; afterwards the last values read are returned."""
        self._client = client
        try:
            yield
        finally:
            self._client = None

    def parameters(self) -> dict[str, torch.Tensor]:
        """Return copies of the present parameters: name to tensor. Raises ShardLost."""
        if self._client is not None:
            self._parameters = self._client.parameters()
        return {name: value.detach().clone() for name, value in self._parameters.items()}

    def snapshot(self) -> Snapshot | None:
        """Return the `Snapshot` of this moment, None when there never was one. Raises ShardLost."""
        if self._client is not None:
            self._snapshot = self._client.snapshot()
            self.read()  # the records of all that is in the snapshot, while they can be had
            self._parameters = self._snapshot.parameters
        return self._snapshot

    def snapshot_of(self, step: int) -> Snapshot | None:
        """Return the `Snapshot` of a step of which a copy was ordered; None where there is none. Raises ShardLost."""
        return self._client.snapshot_of(step) if self._client is not None else None

    def read(self, wait: float = 0.0, told: int = 0) -> None:
        """Read what is new at the shards after `wait` seconds or at the end, within `of`. Raises ShardLost.

        `told`: hooks were told of the steps up to this one, and need no copies of them any more.
        """
        self.status, rows = self._client.poll(self._read, self._events_read, wait, told)
        self._set_clock(self.status["seconds"])
        events = self.status["events"]
        self._events += [(seconds + self._shift, *rest) for seconds, *rest in events]
        self._read, self._events_read = self._read + len(rows), self._events_read + len(events)
        if len(rows):
            rows = rows.copy()
            rows["arrived"] += self._shift
            rows["applied"] += self._shift
            self._rows.append(rows)
            self.version = int(rows["step"][-1])

    def new(self) -> tuple[list[tuple], numpy.ndarray]:
        """Return the events, as (seconds, what, worker, step, reason), and the records not yet returned by this."""
        events, rows = self._events, _joined(self._rows[self._returned :])
        self._events, self._returned = [], len(self._rows)
        return events, rows

    def roll_back(self, version: int) -> None:
        """Forget the updates after `version`: they are lost with the ps that had them. Another server comes."""
        self._rows = [rows[rows["step"] <= version] for rows in self._rows]
        self.version, self._read, self._events_read, self._set = version, 0, 0, False

    def elapsed(self) -> float:
        """Return the seconds since the first incarnation's start; 0 before it."""
        return 0.0 if self._origin is None else time.monotonic() - self._origin

    @property
    def records(self) -> numpy.ndarray:
        """All records that led to the present parameters, as one array of `RECORD`."""
        return _joined(self._rows)

    @property
    def seconds(self) -> float:
        """Seconds from the start to the last update."""
        return next((float(rows["applied"][-1]) for rows in reversed(self._rows) if len(rows)), 0.0)

    def _set_clock(self, seconds):
        """Set the clock by what this incarnation's server reads now, the first time that it reads anything."""
        if seconds is None or self._set:
            return
        zero = time.monotonic() - seconds
        self._origin = zero if self._origin is None else self._origin
        self._shift, self._set = zero - self._origin, True


def _joined(rows):
    return numpy.concatenate([numpy.empty(0, RECORD), *rows])
