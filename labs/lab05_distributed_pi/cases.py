"""What lab 05 asks about, the smallest first: ranges of darts, clusters, counts, runs, logs. Some fixed, some drawn.

Each function takes a numpy Generator and returns two lists of argument tuples: what everybody is asked, and what was
drawn.
"""

import numpy as np

DARTS = [
    (1, 0, 0),
    (1, 0, 1),
    (1, 0, 10),
    (1, 3, 10),
    (2, 0, 10),
    (7, 5, 6),
    (1, 4, 40),
    (3, 100, 1001),
    (2**40, 1, 999),
]


def ranges_of_darts(draw):
    """A stream, the first dart and the end."""
    return DARTS, [_range(draw, most) for most in (5, 40, 300, 300, 3000, 3000, 9000)]


def _range(draw, most):
    first = int(draw.integers(1, most))
    return int(draw.integers(1, 2**60)), first, first + int(draw.integers(most // 2, 2 * most))


def shares(draw):
    """Darts and servers: fewer darts than servers, as many, more, with and without a rest."""
    fixed = [(1, 1), (4, 2), (5, 2), (10, 4), (7, 7), (2, 5), (1000, 3), (1003, 13)]
    return fixed, [(int(draw.integers(1, 20_000)), int(draw.integers(2, 40))) for _ in range(6)]


def clusters(draw):
    """Names of devices, and darts; the last fixed one has a job called gpus without a GPU, and a GPU 3 alone."""
    sizes = ((1, 1, 1), (1, 2, 4), (2, 1, 4), (2, 2, 10), (2, 2, 3), (1, 12, 100), (3, 4, 1000))
    odd = [*cluster_of(1, 0, "gpus"), *cluster_of(2, 1), "/job:chief/task:0/cpu:0", "/job:chief/task:0/gpu:3"]
    fixed = [(cluster_of(tasks, gpus), darts) for tasks, gpus, darts in sizes]
    return [*fixed, (odd, 100)], [_cluster(draw) for _ in range(5)]


def cluster_of(tasks, gpus, job="worker"):
    """Return the names of the devices of so many tasks with a CPU and so many GPUs each, as a cluster lists them."""
    kinds = ["cpu:0", *(f"gpu:{index}" for index in range(gpus))]
    return [f"/job:{job}/task:{task}/{kind}" for task in range(tasks) for kind in kinds]


def _cluster(draw):
    names = []
    for job in ("chief", "worker", "gpu"):  # a job may be called gpu, too
        for task in range(int(draw.integers(0, 4))):
            kinds = ["cpu:0", *(f"gpu:{index}" for index in range(int(draw.integers(0, 13))))]
            names += [f"/job:{job}/task:{task}/{kind}" for kind in kinds]
    names += [f"/job:worker/task:11/{kind}" for kind in ("cpu:0", "gpu:0", "gpu:10")]
    draw.shuffle(names)
    return names, int(draw.integers(1, 20_000))


COUNTS = [[(1, 1)], [(1, 2)], [(8, 10), (7, 10)], [(9, 10), (50, 90)], [(0, 0), (3, 4)], [(785, 1000), (7854, 10_000)]]


def servers_counts(draw):
    """For each server how many darts fell inside, and how many were thrown."""
    return [(counts,) for counts in COUNTS], [(_counts(draw, k),) for k in (2, 3, 5, 9)]


def _counts(draw, servers):
    samples = [int(10 ** draw.uniform(0.5, 4.5)) for _ in range(servers)]
    samples[int(draw.integers(servers))] *= int(draw.integers(0, 2))
    samples.append(int(draw.integers(10, 99)))
    return [(int(draw.binomial(one, draw.uniform(0.6, 0.9))), one) for one in samples]


RUNS = [[3.0, 3.0], [3.0, 4.0], [3.0, 3.25, 3.5], [3.125, 3.25, 3.0, 3.5], [3.1, 3.2, 3.15, 3.12, 3.18, 3.11, 3.09]]


def several_runs(draw):
    """Estimates of pi."""
    drawn = [[float(value) for value in draw.normal(np.pi, draw.uniform(0.01, 0.5), k)] for k in (2, 3, 7, 20)]
    return [(values,) for values in RUNS], [(values,) for values in drawn]


PLACES = [
    (0, 0, [1]),
    (0, 1, [2]),
    (1, 0, [1, 1]),
    (1, 0, [2, 2]),
    (1, 2, [2, 4]),
    (2, 1, [3, 0, 2]),
    (1, 11, [12, 12]),
    (3, 4, [7, 2, 9, 5, 1]),
]


def pairs(draw):
    """A run, a server, and how many servers each run has."""
    return PLACES, [_pair(draw, runs) for runs in (2, 3, 6, 12, 30)]


def _pair(draw, runs):
    servers = [int(count) for count in draw.integers(1, 40, runs)]
    run = int(draw.integers(1, runs))
    return run, int(draw.integers(servers[run])), servers


RANGES = [
    [],
    [(1, 0, 5)],
    [(1, 0, 5), (1, 5, 9)],
    [(1, 0, 5), (1, 4, 9)],
    [(1, 0, 5), (2, 0, 5)],
    [(1, 3, 3), (1, 0, 9)],
    [(1, 0, 5), (1, 7, 9), (1, 3, 8)],
    [(1, 0, 4), (1, 0, 4), (1, 0, 4)],
    [(1, 0, 10), (1, 2, 4), (1, 6, 7), (2, 6, 7)],
    [(1, 6, 9), (2, 0, 3), (1, 0, 7), (2, 2, 8)],
]


def logs(draw):
    """Lists of (stream, first dart, end)."""
    return [(ranges,) for ranges in RANGES], [(_log(draw, k),) for k in (3, 5, 8, 20, 60)]


def _log(draw, count):
    firsts, lengths = draw.integers(0, 12 * count, count), draw.integers(0, 40, count)
    return [(int(draw.integers(1, 4)), int(f), int(f + n)) for f, n in zip(firsts, lengths, strict=True)]
