"""What the processes of a training are told: its settings, whole and for good, and where its shards are."""

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


@dataclass(frozen=True)
class ShardAddresses:
    """The shards of one incarnation, shard 0 first; it can be pickled.

    `endpoints`: (host, port) of each; `tasks`: their names in the cluster; `names`: the parameters that each holds
    (empty: one shard has all); `parameters`: all of them, in the problem's order. `token`: the training's secret.
    """

    endpoints: tuple[tuple[str, int], ...]
    tasks: tuple[str, ...]
    token: str
    incarnation: int = 0
    names: tuple[tuple[str, ...], ...] = ()
    parameters: tuple[str, ...] = ()
