"""Which parameters lie on which parameter-server task."""

import torch


def spread(parameters: dict[str, torch.Tensor], shards: int, placement: str = "by_size") -> list[list[str]]:
    """Return the names of each shard's parameters: a list of at most `shards` lists, none of them empty.

    - "by_size": the largest tensor first, each to the shard with the fewest bytes so far.
    - "round_robin": in the order of the names as they stand, one after the other.

    With fewer parameters than tasks, the last tasks get none. Raises ValueError for another placement.

    >>> import torch
    >>> shapes = {"w1": (784, 100), "b1": (100,), "w2": (100, 10), "b2": (10,)}
    >>> layers = {name: torch.zeros(shape) for name, shape in shapes.items()}
    >>> spread(layers, 2)
    [['w1'], ['b1', 'w2', 'b2']]
    >>> spread(layers, 2, "round_robin")
    [['w1', 'w2'], ['b1', 'b2']]
    """
    names, shards = list(parameters), min(shards, len(parameters))
    if placement == "round_robin":
        return [names[first::shards] for first in range(shards)]
    if placement != "by_size":
        raise ValueError(f'placement={placement!r}: use "by_size" or "round_robin".')
    held: list[list[str]] = [[] for _ in range(shards)]
    held_bytes = [0] * shards
    for name in sorted(names, key=lambda name: -parameters[name].nbytes):  # a stable sort: equals keep their order
        # an empty shard counts as lighter than one that holds a tensor of no bytes
        lightest = min(range(shards), key=lambda shard: (held_bytes[shard], len(held[shard])))
        held[lightest].append(name)
        held_bytes[lightest] += parameters[name].nbytes
    return [[name for name in names if name in one] for one in held]
