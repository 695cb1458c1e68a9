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
from tests.slow.faults.lanes import own_words
from tests.slow.faults.outcome import complaints

_EVERY = 0.02  # seconds between two steps told


class Tell(Hook):
    """Says the step, not too often."""

    def __init__(self, say):
        self._say, self._last = say, 0.0

    def after_run(self, session, step):
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            self._say(step=step.step)


def main(told):
    """Train as `told`; every line said is JSON."""
    words = own_words()

    def say(**fields):
        print(json.dumps(fields), file=words)

    warnings.showwarning = lambda message, *_: say(warned=str(message).split("\n")[0])
    try:
        with _cluster(told) as cluster:
            say(pids=cluster.client.run(os.getpid), tasks=cluster.tasks)
            result = _train(told, cluster, Tell(say))
        end = {
            "version": result.version,
            "incarnations": result.incarnations,
            "events": [e.what for e in result.events],
        }
        say(complaints=complaints(result, told["steps"]), **end)
    except Exception as error:
        say(error=type(error).__name__, text=str(error))


def _cluster(told):
    if "local" in told:
        return local_cluster(**told["local"])
    return connect(ClusterSpec.read(told["spec"]), security=told["certificate"], timeout=120)


def _train(told, cluster, tell):
    return train(
        Counting(told["workers"], told["pause"]),
        cluster,
        optimizer=SGD_1,
        mode=told["mode"],
        workers=told["workers"],
        aggregate=told["aggregate"],
        total_steps=told["steps"],
        hooks=[tell, SaveCheckpoint(steps=max(5, told["steps"] // 12))],
        checkpoint_dir=told["folder"],
        seed=told["seed"],
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
