"""`python notebooks/tapes.py [FOLDER]`: record the tapes that come with the course again; on a machine that is idle.

They are what chapters 04 and 05 show beside a reader's own: "mean" and "darts", their cells once more.
"""

import operator
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from course import estimate_pi, local_cluster
from course.cluster.tape import tape as tapes
from course.mapreduce import map_reduce, mean, part_sum


def made(first, last):
    """Return the numbers from `first` to `last` as float32: 64 MB of them in all."""
    return np.arange(first, last, dtype=np.float32)


def record_mean():
    """Return the tape of a mean of 16 million numbers: sent to two tasks, then made on them."""
    halves = [(0, 8_000_000), (8_000_000, 16_000_000)]
    with local_cluster(local=2) as cluster:
        mean(made(0, 1000), 2, cluster.executor)
        with cluster.record() as tape:
            mean(made(0, 16_000_000), 2, cluster.executor)
            map_reduce(lambda half: part_sum(made(*half)), operator.add, halves, cluster.executor)
    return tape


def record_darts():
    """Return the tape of two billion darts on two servers, one of which is killed."""
    with local_cluster(server=2) as cluster, ThreadPoolExecutor(1) as background:
        estimate_pi(1_000_000, 1, cluster.executor)
        with cluster.record() as tape:
            thrown = background.submit(estimate_pi, 2_000_000_000, 1, cluster.executor)
            time.sleep(0.05)
            cluster.kill("/job:server/task:1")
            thrown.result(timeout=60)
    return tape


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(tapes.__file__).parent / "recorded"
    for name, record in {"mean": record_mean, "darts": record_darts}.items():
        tape = record()
        tape.save(folder / f"{name}.json")
        print(name, tape, tape.record.machine, tape.record.date)
