"""Small trainings that a real machine has run, and the costs that were fitted to the smallest of them."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from course.scale.message_costs import Costs
from course.scale.simulate import REDUCED, simulate
from course.traces.measured_or_modelled import Figure

_FILE = Path(__file__).with_name("recorded.json")


@dataclass(frozen=True)
class Run(Figure):
    """A real training on one machine: its `design`, `workers`, `shards` (0: no server), `nbytes` of a gradient.

    `seconds`: a gradient took, all workers together. `fitted`: whether the costs were fitted to it, or predict it.
    """

    design: str
    workers: int
    shards: int
    nbytes: int
    seconds: float
    fitted: bool
    kind: str = "recorded"
    origin: str = ""


@dataclass(frozen=True)
class Recorded(Figure):
    """What one machine with `cores` recorded: `costs` with servers ("served") and without ("reduced"), and its runs.

    `compute`: the same two names -> bytes of a gradient -> seconds of some of them, each computed alone. `crowded`:
    bytes -> processes that compute at once on these cores -> how many times as long of a core a gradient takes: each
    process comes back to caches that the others have filled.
    """

    cores: int
    costs: dict[str, Costs]
    compute: dict[str, dict[int, list[float]]]
    crowded: dict[int, dict[int, float]]
    runs: tuple[Run, ...]
    kind: str = "recorded"
    origin: str = ""

    def seconds(
        self, design: str, workers: int, nbytes: int, *, shards: int = 1, cores: int | None = None, **settings: Any
    ) -> float:
        """Return the simulated seconds a gradient of `nbytes`, with this machine's costs; see `simulate`.

        Where `cores` are shared, they are this machine's, and a gradient takes as much longer as `crowded` says.
        Raises ValueError for a number of bytes of which no computing was recorded.
        """
        family = "reduced" if design in REDUCED else "served"
        by_size = self.compute[family]
        if nbytes not in by_size:
            raise ValueError(
                f"seconds(nbytes={nbytes}): recorded are {', '.join(map(str, by_size))}. Use one of these."
            )
        crowded = self.crowded[nbytes]
        longer = 1.0 if cores is None else float(np.interp(workers, list(crowded), list(crowded.values())))
        compute = [longer * alone for alone in by_size[nbytes]]
        return simulate(design, workers, self.costs[family], compute, nbytes, shards=shards, cores=cores, **settings)


@cache
def recorded() -> Recorded:
    """Return what the course's own machine recorded; its `label` names the machine and the day."""
    return from_document(json.loads(_FILE.read_text(encoding="utf-8")))


def from_document(document: dict[str, Any]) -> Recorded:
    """Return the `Recorded` of JSON data, as `python -m benchmarks.scaling --record` writes it."""
    origin = f"{document['hardware']}, {document['date']}"
    return Recorded(
        cores=document["cores"],
        costs={family: Costs(**costs) for family, costs in document["costs"].items()},
        compute={
            family: {int(nbytes): seconds for nbytes, seconds in sizes.items()}
            for family, sizes in document["compute"].items()
        },
        crowded={
            int(nbytes): {int(processes): factor for processes, factor in factors.items()}
            for nbytes, factors in document["crowded"].items()
        },
        runs=tuple(Run(**run, origin=origin) for run in document["runs"]),
        origin=origin,
    )
