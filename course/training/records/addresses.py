"""Where a training's shards are: what workers, and a driver that takes over, need in order to reach them."""

from dataclasses import dataclass


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
