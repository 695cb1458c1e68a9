"""Which task of a cluster started by hand this process is: a task, the scheduler, or both."""

from dataclasses import dataclass, field

from course.cluster.certificates import Certificate
from course.cluster.routes import Routes, found_at
from course.cluster.spec import ClusterSpec
from course.cluster.task.task import TaskSettings
from course.deadlines import TASK_WAITS

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Member:
    """Which task of which cluster a process is to be; `job="scheduler"` is a process of the scheduler's own.

    `certificate`: None for plain TCP, which is for loopback only. `patience`: seconds to wait for the scheduler, at
    the start and again whenever it is lost. `simulated_gpus`: count and model, None for none. `preload`: names of
    modules that a scheduler imports before it listens: it reads all work that comes by, and torch, imported with the
    first of it, would silence it for seconds. `routes`: how it finds the others. `ports`: where what runs in the task
    may listen, such as a parameter server's shards, as "4000:4100"; None for any. Raises ValueError or IndexError for a
    task that the spec doesn't have.
    """

    spec: ClusterSpec
    job: str
    index: int
    certificate: Certificate | None
    patience: float = TASK_WAITS
    simulated_gpus: tuple[int, str] | None = None
    preload: tuple[str, ...] = ("torch",)
    routes: Routes = field(default_factory=Routes)
    ports: str | None = None

    def __post_init__(self):
        spec = self.spec
        if spec.scheduler is None:
            raise ValueError('task: the spec names no scheduler; add a line such as scheduler = ["localhost:8786"]')
        if self.job == "scheduler" and spec.scheduler_task is not None:
            raise ValueError(
                f"task: with these flags the scheduler runs inside {spec.scheduler_task}'s process, at "
                f"{spec.scheduler}; start that task, or give --scheduler-hosts host:port for a scheduler of its own"
            )
        for address in self.listens_at if self.certificate is None else ():
            if address.rpartition(":")[0] not in LOOPBACK:
                raise ValueError(
                    f"task: {address} is not on loopback, and without TLS whoever reaches it can run code as you. "
                    "Make a certificate by `python -m course certificate cluster.pem`, give every member a copy, and "
                    "drop --insecure"
                )

    @property
    def with_scheduler(self) -> bool:
        """Whether the scheduler runs in this process: a spec from flags puts it beside its first ps task."""
        return self.job == "scheduler" or self.spec.scheduler_task == self.name

    @property
    def listens_at(self) -> set[str]:
        """The addresses that this process needs, `host:port`: the task's, and its scheduler's where it runs that."""
        return {self.address, self.scheduler_address} if self.with_scheduler else {self.address}

    @property
    def name(self) -> str:
        """The task's name, such as `/job:worker/task:0`, or "the scheduler"."""
        return "the scheduler" if self.job == "scheduler" else f"/job:{self.job}/task:{self.index}"

    @property
    def address(self) -> str:
        """Where it listens, `host:port`."""
        return self.spec.task_address(self.job, self.index)

    @property
    def scheduler_address(self) -> str:
        """Where the scheduler listens, `host:port`, or is found from here."""
        return found_at(str(self.spec.scheduler), None if self.with_scheduler else self.routes)

    @property
    def session_target(self) -> str:
        """`scheduler_address` with its protocol: `tls://host:port`, or `tcp://…` without a certificate."""
        return f"{'tcp' if self.certificate is None else 'tls'}://{self.scheduler_address}"

    def settings(self, threads: int, scratch: str) -> TaskSettings:
        """Return what the task's process must know. `threads`: for PyTorch; `scratch`: the folder for spilled data."""
        host, _, port = self.address.rpartition(":")
        starts_it = self.spec.scheduler_task or "the scheduler's task"
        return TaskSettings(
            self.name,
            self.session_target,
            host,
            int(port),
            threads,
            scratch,
            self.patience,
            self.certificate,
            self.simulated_gpus,
            ports=self.ports,
            routes=dict(self.routes.ways),
            advice=f"Start {starts_it}",
        )
