"""The order that a deployed task reads from its standard input: one line of JSON, with the cluster's key in it."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from course.cluster.certificates import Certificate

#: Seconds for a deployed task to find its scheduler, at first and again; then its client is gone, and it ends.
DEPLOYED_TASK_TRIES = 6.0


@dataclass(frozen=True)
class Order:
    """One task's order: its name, the scheduler's address, the cluster's certificate, and how it is to run.

    `among`: the tasks on the same machine, which share its cores and GPUs; none where a batch system gives each its
    own. `interface`: the network interface to listen on, None for the one that leads to the scheduler. `ports`: such
    as "40000:40100", None for any. `cores`: at most so many threads for PyTorch; None for a fair share. `memory`: bytes
    it may use. `scratch`: a folder on the machine's own disk. `attached`: whether it ends with its standard input.
    """

    name: str
    scheduler: str
    certificate: Certificate
    among: tuple[str, ...] = ()
    interface: str | None = None
    ports: str | None = None
    cores: int | None = None
    memory: int | None = None
    scratch: str | None = None
    attached: bool = False
    patience: float = DEPLOYED_TASK_TRIES

    @property
    def job(self) -> str:
        """The job that the task is of, such as "worker"."""
        return self.name.split("/")[1].removeprefix("job:")

    @property
    def index(self) -> int:
        """Which task of its job it is."""
        return int(self.name.rpartition(":")[2])

    @property
    def file_name(self) -> str:
        """What the names of its files begin with: `worker-0`."""
        return f"{self.job}-{self.index}"

    def command(self, python: str) -> str:
        """Return the shell command that runs the task; what it needs besides comes by its standard input."""
        return f"{python} -m course task --job {self.job} --index {self.index} --deployed"

    def line(self) -> str:
        """Return the line of JSON that goes to the task's standard input."""
        return json.dumps(asdict(self))


def order_of(line: str) -> Order:
    """Return the `Order` in a line that `Order.line` made; ValueError for any other."""
    try:
        fields: dict[str, Any] = json.loads(line)
        return Order(**{**fields, "certificate": Certificate(**fields["certificate"]), "among": tuple(fields["among"])})
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError("task --deployed: this is for `deploy`, which sends a task its order") from error
