"""The scheduler of deployed tasks: it expects names, not addresses, since a batch system may run a job anywhere."""

from collections.abc import Callable, Sequence
from typing import Any

from dask.utils import format_bytes
from distributed.core import Status

from course.cluster.multihost.task_scheduler import TaskScheduler


class DeployScheduler(TaskScheduler):
    """A scheduler for the tasks named `expected`, wherever they turn up; work pinned to one follows it.

    `refused`: task -> why it may not join, such as another version of PyTorch.
    """

    def __init__(self, expected: Sequence[str], say: Callable[..., None], **settings: Any):
        super().__init__(None, say, **settings)
        self.expected = tuple(expected)
        self.refused: dict[str, str] = {}
        self.addresses: dict[str, str] = {}  # task -> where it listened last, `host:port`

    @property
    def pinned_work_waits(self) -> float | None:
        """None: a task's successor may wait in a queue for as long as it likes."""
        return None

    def jobs(self) -> dict[str, list[str]]:
        """Return the jobs with the addresses of the tasks that are there."""
        jobs: dict[str, list[str]] = {"scheduler": [self.address.partition("://")[2]]}
        for task in self.expected:
            if task in self.aliases:
                jobs.setdefault(task.split("/")[1].removeprefix("job:"), []).append(self.addresses[task])
        return jobs

    def unexpected(self, name: str, address: str) -> str | None:
        """Return why there is to be no task `name`, as a sentence, or None; any address is right."""
        return None if name in self.expected else f"the cluster has no {name}: it has {', '.join(self.expected)}"

    def handshake(self, name: str, address: str, versions: dict[str, str]) -> dict[str, Any]:
        """Say whether the task `name` may join, as for tasks started by hand; note what keeps it out for good."""
        answer = super().handshake(name, address, versions)
        if answer["refused"] and not answer["wait"]:
            self.refused[name] = answer["refused"]
        return answer

    def handle_worker_status_change(self, status: Any, worker: Any, stimulus_id: str) -> None:
        """Do as Dask does, and tell of a task that takes no more work because its memory is nearly full."""
        super().handle_worker_status_change(status, worker, stimulus_id)
        state = self.workers.get(worker) if isinstance(worker, str) else worker
        if state and state.status == Status.paused:
            used, limit = format_bytes(state.metrics.get("memory", 0)), format_bytes(state.memory_limit)
            self.say(
                f"{state.name} is paused: it used {used} of its {limit} when last heard, and takes no more work. Work "
                "pinned to it waits. Deploy with more memory, as in memory='4GB'",
                flush=True,
            )
