"""A session in a process of its own: trains the counting problem as a JSON line says, and tells how it goes.

`python -m tests.slow.faults.processes.driver '{"local": {"ps": 1, "worker": 2}, …}'` prints a line of JSON for the
start, for steps as they are told, and one for the end: a result, judged here, or an error.
"""

import json
import os
import sys
import time
import warnings

from course.cluster import ClusterSpec, connect, local_cluster
from course.training import Hook, train
from course.training.hooks.every import SaveCheckpoint
from tests.slow.faults.counting import SGD_1, Counting
from tests.slow.faults.outcome import complaints

_EVERY = 0.02  # seconds between two steps told


class Tell(Hook):
    """Says the step, not too often."""

    def __init__(self, say):
        self._say, self._last = say, 0.0

    def after_run(self, session, step):
        clock = time.monotonic()
        if clock - self._last >= _EVERY:
            self._last = clock
            self._say(step=step.step)


def main(fields):
    """Train as the fields say; every line that is printed is JSON."""
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what anybody prints goes to standard error

    def say(**fields):
        print(json.dumps(fields), file=lines)

    warnings.showwarning = lambda message, *_: say(warned=str(message).split("\n")[0])
    try:
        with _cluster(fields) as cluster:
            say(pids=cluster.client.run(os.getpid), tasks=cluster.tasks)
            result = _train(fields, cluster, Tell(say))
        wrong = complaints(result, fields["steps"])
        say(complaints=wrong, version=result.version, incarnations=result.incarnations)
    except Exception as error:
        say(error=type(error).__name__, text=str(error))


def _cluster(fields):
    if "local" in fields:
        return local_cluster(**fields["local"])
    return connect(ClusterSpec.read(fields["spec"]), security=fields["certificate"], timeout=120)


def _train(fields, cluster, tell):
    return train(
        Counting(fields["workers"], fields["pause"]),
        cluster,
        optimizer=SGD_1,
        mode=fields["mode"],
        workers=fields["workers"],
        aggregate=fields["aggregate"],
        total_steps=fields["steps"],
        hooks=[tell, SaveCheckpoint(steps=max(5, fields["steps"] // 12))],
        checkpoint_dir=fields["folder"],
        seed=fields["seed"],
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
