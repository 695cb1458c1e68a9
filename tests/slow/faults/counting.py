"""A problem whose parameters count pushes: each worker's gradient is −1 in its own row, and the learning rate is 1."""

import time
from dataclasses import dataclass
from functools import partial

import torch

#: name -> width of the row that each worker has in that tensor: several tensors, so that several shards have some.
WIDTHS = {"narrow": 1, "middle": 3, "wide": 40, "last": 2}
SGD_1 = partial(torch.optim.SGD, lr=1.0)


@dataclass(frozen=True)
class Counting:
    """After training, every number in row w of every tensor is the number of worker w's pushes that were applied.

    (Synchronously, an update of n gradients adds 1/n to each of its n workers' rows.) `pause`: seconds a gradient
    takes; `more`: further numbers in each row, for a checkpoint of some size.
    """

    workers: int
    pause: float = 0.0
    more: int = 0

    def initial(self):
        widths = {**WIDTHS, "filler": self.more} if self.more else WIDTHS
        return {name: torch.zeros(self.workers, width, dtype=torch.float64) for name, width in widths.items()}

    def batch(self, worker, version, generator):
        if self.pause:
            time.sleep(self.pause * (0.5 + torch.rand((), generator=generator).item()))
        return worker

    def loss(self, parameters, batch):
        return -sum(tensor[batch].sum() for tensor in parameters.values())


def counted(parameters):
    """Return how many pushes of each worker the parameters hold; raise AssertionError where tensors disagree."""
    rows = {name: tensor.double() for name, tensor in parameters.items()}
    first = rows["narrow"][:, 0]
    for name, tensor in rows.items():
        if not torch.equal(tensor, first[:, None].expand_as(tensor)):
            raise AssertionError(f"a torn update: {name!r} holds {tensor.tolist()}, 'narrow' {first.tolist()}"[:500])
    return first.tolist()
