"""What `python -m course pi` prints."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

from course.pi.estimate import check_darts, estimate_pi


def report(samples: float | str, workers: int, seed: int, method: str) -> Iterator[str]:
    """Yield the lines of the report; with two `workers` or more, each is a process of a cluster of its own."""
    samples, seed = check_darts(samples, seed, method)  # before any process starts
    executor = None
    with ExitStack() as stack:
        if workers > 1:
            from course.cluster import local_cluster

            started = time.perf_counter()
            executor = stack.enter_context(local_cluster(worker=workers)).executor
            yield f"{workers} processes ready in {time.perf_counter() - started:.1f} s"
        started = time.perf_counter()
        estimate = estimate_pi(samples, seed, executor, method)
        seconds = time.perf_counter() - started
    yield f"pi = {estimate}"
    yield f"{estimate.inside:,} of {estimate.samples:,} darts inside"
    yield f"{seconds:.3g} s, {estimate.samples / seconds / 1e6:,.0f} million samples/s"
