"""Which part of a cluster that is started by hand a process is: a task, the scheduler, or a task with it beside it."""

from dataclasses import dataclass
from typing import Any

from course.cluster.certificates import Certificate
from course.cluster.spec import ClusterSpec
from course.deadlines import TASK_WAITS

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Member:
    """Which task of which cluster a process is to be. `patience`: seconds to wait for the scheduler, each time.

    `certificate`: None for plain TCP. `with_scheduler`: whether the scheduler runs in this process too.
    `simulated_gpus`: count and model, None for none. `preload`: names of modules that a scheduler imports before it
    listens: it reads all work that comes by, and torch, imported with the first of it, would silence it for seconds.
    """

    spec: ClusterSpec
    job: str
    index: int
    certificate: Certificate | None
    patience: float = TASK_WAITS
    with_scheduler: bool = False
    simulated_gpus: tuple[int, str] | None = None
    preload: tuple[str, ...] = ("torch",)

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
        """Where the scheduler listens, `host:port`; `member` refuses a spec that does not say."""
        return str(self.spec.scheduler)

    @property
    def protocol(self) -> str:
        """Dask's name for how it speaks: "tls", or "tcp" without a certificate."""
        return "tcp" if self.certificate is None else "tls"

    @property
    def session_target(self) -> str:
        """The scheduler's address, `tls://host:port`."""
        return f"{self.protocol}://{self.scheduler_address}"


def member(
    spec: ClusterSpec,
    job: str,
    index: int,
    certificate: Certificate | None,
    patience: float = TASK_WAITS,
    *,
    with_scheduler: bool | None = None,
    **more: Any,
) -> Member:
    """Return the `Member` that these describe; raise ValueError or IndexError for one that the spec doesn't have.

    `with_scheduler`: None for "where the spec says so", as a spec from flags does of its first ps task. `more`:
    `simulated_gpus`, `preload`, as for `Member`.
    """
    if spec.scheduler is None:
        raise ValueError('task: the spec names no scheduler; add a line such as scheduler = ["localhost:8786"]')
    if job == "scheduler" and spec.scheduler_task is not None:
        raise ValueError(
            f"task: with these flags the scheduler runs inside {spec.scheduler_task}'s process, at {spec.scheduler}; "
            "start that task, or give --scheduler-hosts host:port for a scheduler of its own"
        )
    if with_scheduler is None:
        with_scheduler = spec.scheduler_task == f"/job:{job}/task:{index}"
    me = Member(spec, job, index, certificate, patience, with_scheduler or job == "scheduler", **more)
    _check_encryption(me)
    return me


def _check_encryption(me):
    if me.certificate is not None:
        return
    for address in {me.address, me.scheduler_address if me.with_scheduler else me.address}:
        if address.rpartition(":")[0] not in LOOPBACK:
            raise ValueError(
                f"task: {address} is not on loopback, and without TLS whoever reaches it can run code as you. Make a "
                "certificate by `python -m course certificate cluster.pem`, give every member a copy, and drop "
                "--insecure"
            )
