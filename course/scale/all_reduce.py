"""A ring and a server that add up the same vectors: which gradients each holds, what it sends, how long it takes.

The page of `course.widgets.RingAllReduce` has the same rules in `all_reduce.js`; a test compares them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class AllReduce:
    """`ranks` processes add up a vector of `nbytes` each, on links of `speed` bytes a second and `latency` seconds.

    Each process has one link, and so has a server; it carries one message at a time in each direction. A message
    arrives `latency` after its last byte has left. Adding costs nothing, and all begin at second 0.

    Raises ValueError for fewer than 2 ranks, no bytes, no speed, or a latency below 0.
    """

    ranks: int
    nbytes: float
    speed: float
    latency: float

    def __post_init__(self) -> None:
        if self.ranks < 2 or min(self.nbytes, self.speed) <= 0 or self.latency < 0:
            raise ValueError(f"{self}: give 2 ranks or more, bytes and a speed above 0, and a latency of 0 or more.")

    @property
    def alone(self) -> float:
        """Seconds that one whole vector keeps a link busy."""
        return self.nbytes / self.speed

    @property
    def steps(self) -> int:
        """Steps of the ring, one after another: `ranks` − 1 of reduce-scatter, as many of all-gather."""
        return 2 * (self.ranks - 1)

    @property
    def step_seconds(self) -> float:
        """Seconds of a step, in which each rank sends one piece of 1/`ranks` of the vector."""
        return self.latency + self.alone / self.ranks

    @property
    def ring_seconds(self) -> float:
        """Seconds until each rank of the ring has the sum."""
        return self.steps * self.step_seconds

    @property
    def server_seconds(self) -> float:
        """Seconds until each worker of the server has the sum: all vectors go in by its link, then all sums out."""
        return 2 * (self.latency + self.ranks * self.alone)

    @property
    def sent(self) -> float:
        """Bytes that each rank of the ring sends; a worker of the server sends `nbytes`."""
        return self.steps * self.nbytes / self.ranks

    @property
    def through_server(self) -> float:
        """Bytes that go through the server's link, in and out."""
        return 2 * self.ranks * self.nbytes

    @property
    def even(self) -> float:
        """Bytes of a vector for which both take as long; with fewer the server is quicker. 0: the ring always is."""
        ranks = self.ranks
        return self.latency * self.speed * ranks * (ranks - 2) / (ranks * ranks - ranks + 1)

    def pieces(self, step: int) -> list[list[int]]:
        """Return, by rank and piece, the gradients that it holds after `step` steps of the ring: bit r is rank r's.

        Raises ValueError for a step outside 0 to `steps`.
        """
        if not 0 <= step <= self.steps:
            raise ValueError(f"pieces(step={step}): give 0 to {self.steps}.")
        held = [[1 << rank] * self.ranks for rank in range(self.ranks)]
        for done in range(step):
            held = _after(held, done)
        return held


def _after(held, done):
    """Return what each rank holds one step later: it takes in what the rank before it sends."""
    ranks, later = len(held), [list(pieces) for pieces in held]
    for rank in range(ranks):
        piece = (rank - done - 1) % ranks
        arrived = held[rank - 1][piece]
        later[rank][piece] = held[rank][piece] | arrived if done < ranks - 1 else arrived
    return later
