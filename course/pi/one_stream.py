"""The mistake of giving every server the same seed: all throw the same darts, and the error is one server's."""

from math import sqrt

from course.pi.estimate import METHODS, PiEstimate, estimate_pi


def one_stream(samples: int, servers: int, seed: int = 0, method: str = "pseudo") -> PiEstimate:
    """Return the `PiEstimate` of `servers` that all throw the same darts; it claims too small an error.

    Each throws `samples` // `servers` darts of the one `seed`. `standard_error` is what they would have if all darts
    were different: √`servers` times too small. Raises ValueError as `estimate_pi` does, and for servers below 1.

    >>> alone = estimate_pi(25_000, seed=3)
    >>> together = one_stream(100_000, 4, seed=3)
    >>> together.value == alone.value, together.samples
    (True, 100000)
    """
    if servers < 1 or samples // servers < 2 * METHODS[method]:
        raise ValueError(
            f"one_stream(samples={samples}, servers={servers}): give 1 server or more, and each of them "
            f"{2 * METHODS[method]} darts or more."
        )
    alone = estimate_pi(samples // servers, seed, method=method)
    return PiEstimate(
        alone.value, alone.standard_error / sqrt(servers), alone.inside * servers, alone.samples * servers
    )
