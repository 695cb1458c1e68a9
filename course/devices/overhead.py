"""What a placement log costs: microseconds that it adds to an op, measured on this machine when asked."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter

import torch

_OPS = 200  # a batch, about a millisecond: short enough to fit between other programs' turns
_BATCHES = 25


@dataclass(frozen=True)
class Overhead:
    """`seconds_an_op` that a log adds, measured here on a small product; `ops` in the log that was asked."""

    seconds_an_op: float
    ops: int

    @property
    def seconds(self) -> float:
        """What the log added to the program that it recorded, estimated from its number of ops."""
        return self.seconds_an_op * self.ops

    def __repr__(self):
        each, every = self.seconds_an_op * 1e6, self.seconds * 1e3
        return f"{each:.1f} µs an op, measured on this machine now; about {every:.2f} ms for {self.ops} ops"


def measure(fresh_log: Callable[[], AbstractContextManager], ops: int) -> Overhead:
    """Return the `Overhead` of the logs that `fresh_log()` makes, the best of some batches with and without one.

    Other work on the machine only ever adds time, so the smallest difference is the log's own.
    """
    a = torch.ones(4, 4)
    without = with_log = float("inf")
    for _ in range(_BATCHES):
        without = min(without, _batch(a))
        with fresh_log():
            with_log = min(with_log, _batch(a))
    return Overhead(max(0.0, with_log - without) / _OPS, ops)


def _batch(a):
    start = perf_counter()
    for _ in range(_OPS):
        torch.mm(a, a)
    return perf_counter() - start
