"""What was recorded at a distance: one cell on three systems; trainings over lines of many delays, and on two hosts."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course.traces.measured_or_modelled import Figure

_FILE = Path(__file__).with_name("recorded.json")


@dataclass(frozen=True)
class Elsewhere(Figure):
    """The chapter's cell on one `system`: seconds until its cluster was there, of Pi, and of a first training.

    `pi`: of a million darts; `off`: standard errors between the trained line and the best one.
    """

    system: str
    start: float
    first_pi: float
    first_training: float
    pi: float
    off: float
    kind: str = "recorded"
    origin: str = ""


@dataclass(frozen=True)
class Far(Figure):
    """Rounds of `workers` that average their gradients: `seconds` of a round, in which each computes one gradient.

    - `design`: "asynchronous", "synchronous", "shards" (synchronous, two servers) or "ring". `delay`: seconds one way,
      of the line of each server, or rank. `bandwidth`: its bytes a second each way, None without a limit.
    - `compute`: seconds of a gradient; `nbytes`: of its tensors.
    """

    design: str
    workers: int
    delay: float
    bandwidth: float | None
    compute: float
    nbytes: int
    seconds: float
    kind: str = "recorded"
    origin: str = ""

    @property
    def rate(self) -> float:
        """Gradients a second, of all workers together."""
        return self.workers / self.seconds


@cache
def elsewhere() -> tuple[Elsewhere, ...]:
    """Return the same cell's runs: on this course's own machine as local cluster, under Slurm, and over SSH."""
    return tuple(Elsewhere(**row, origin=origin) for row, origin in _rows("elsewhere"))


@cache
def sweep() -> tuple[Far, ...]:
    """Return the trainings over lines of 0 to 100 ms, with and without a limit of bytes a second."""
    return tuple(Far(**row, origin=origin) for row, origin in _rows("sweep"))


@cache
def two_hosts() -> tuple[Far, ...]:
    """Return trainings of which server and workers were on two hosts (network namespaces), the slow line between."""
    return tuple(Far(**row, origin=origin) for row, origin in _rows("hosts"))


def _rows(name):
    part = json.loads(_FILE.read_text(encoding="utf-8"))[name]
    return [(row, f"{part['hardware']}, {part['date']}") for row in part["rows"]]
