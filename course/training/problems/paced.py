"""A training at a pace that eyes can follow, with workers that can be made slower while it runs."""

import time
from typing import TYPE_CHECKING, Any

import torch

from course.training.problems.problem import Problem, Slowed

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

_EXTRA = [0.0]  # seconds that each batch takes longer in this process, set by `slow` from outside


class Paced(Slowed):
    """A problem on which every batch takes `seconds` longer, and as many more as `slow` has set in this process."""

    def batch(self, worker: int, version: int, generator: torch.Generator) -> Any:
        """Return the problem's batch, after those seconds."""
        time.sleep(_EXTRA[0])
        return super().batch(worker, version, generator)


def paced(problem: Problem, seconds: float = 0.004) -> Paced:
    """Return the same problem with `seconds` more for every batch of every worker; raises ValueError below 0."""
    if not seconds >= 0:
        raise ValueError(f"paced(seconds={seconds}): give seconds from 0 up.")
    return Paced(problem, None, float(seconds))


def slow(cluster: "Cluster", task: str, seconds: float) -> None:
    """From now on each batch of a `paced` problem takes `seconds` longer on `task`; 0 makes it quick again.

    A task that is replaced begins quick. Raises ValueError for a task that the cluster doesn't have, or for seconds
    below 0; TimeoutError after two seconds when the task doesn't answer.
    """
    if not seconds >= 0:
        raise ValueError(f"slow({task!r}, {seconds}): give seconds from 0 up.")
    job, _, index = task.removeprefix("/job:").partition("/task:")
    if task not in cluster.tasks:
        raise ValueError(f"slow({task!r}): the tasks of this cluster are {', '.join(cluster.tasks)}.")
    protocol = cluster.session_target.partition("://")[0]
    address = f"{protocol}://{cluster.spec.task_address(job, int(index))}"
    client = cluster.client
    try:  # `client.run` alone would wait for a frozen task for ever
        client.sync(client._run, _set_extra, float(seconds), workers=[address], callback_timeout=2)
    except TimeoutError:
        raise TimeoutError(f"slow({task!r}): it has not answered for 2 s; it may be frozen, or just dying.") from None


def _set_extra(seconds):
    _EXTRA[0] = seconds
