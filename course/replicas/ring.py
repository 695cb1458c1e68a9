"""A ring all-reduce: every rank ends with the sum of all, each link carries the same, and there is no server."""

from collections.abc import Callable

import torch


def ring_all_reduce(
    values: torch.Tensor,
    rank: int,
    size: int,
    give: Callable[[torch.Tensor], object],
    take: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """Add up `values` over `size` ranks, in place; all ranks call this, and all end with the same bits.

    - `values`: a CPU tensor of one dimension, of one length and dtype on all ranks. `rank`: 0 to `size` − 1.
    - `give(tensor)` sends to the next rank, (`rank` + 1) % `size`, and does not wait for it to take; it must send, or
      copy, the tensor as it is now. `take(like)` returns the next tensor from the rank before, shaped like `like`.

    The values are cut into `size` pieces. In `size` − 1 steps the sums of pieces travel once around (*reduce-scatter*),
    in as many more the finished sums do (*all-gather*). A rank sends 2·(`size` − 1)/`size` times the bytes of `values`,
    however many ranks there are: less than twice. Source: P. Patarasuk, X. Yuan, 2009.
    """
    pieces = values.tensor_split(size)  # views: adding to a piece adds to `values`
    for step in range(2 * (size - 1)):
        outgoing, incoming = pieces[(rank - step) % size], pieces[(rank - step - 1) % size]
        give(outgoing)
        arrived = take(incoming)
        incoming.copy_(incoming + arrived if step < size - 1 else arrived)
