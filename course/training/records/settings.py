"""What a training is told at the start and never changes: a shard gets it whole."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingSettings:
    """How pushes are applied (`mode`, `max_staleness`, `aggregate`), by how many `workers`, up to version `limit`.

    `placement`: "by_size" or "round_robin", how parameters are spread over the ps tasks. `grace`: seconds that a shard
    whose driver has gone waits for another before it ends. `seed`: as given to `train`; snapshots carry it.
    """

    mode: str
    workers: int
    limit: int
    max_staleness: int | None = None
    aggregate: int | None = None
    placement: str = "by_size"
    grace: float = 0.0
    seed: int = 0
