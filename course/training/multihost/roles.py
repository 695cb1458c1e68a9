"""The classic form: each role of a training is a process that a person starts by hand, in any order, on any host."""

import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass

from course.cluster import ClusterSpec, connect
from course.cluster.certificates import Certificate, security
from course.cluster.multihost.member import Member
from course.cluster.multihost.serve import joined
from course.deadlines import LAST_NOTICE_READ, ROLE_LISTS_TASKS_EVERY, ROLE_LOOKS_EVERY, TASK_WAITS
from course.devices import DeviceList
from course.signals import taken
from course.training.driver.shard_client import context_of
from course.training.driver.train import train_with
from course.training.driver.training_plan import TrainingPlan
from course.training.hooks.base import Hook
from course.training.hooks.progress import SayProgress
from course.training.multihost.chief import ChiefPool, LeaderLease
from course.training.multihost.status_board import StatusBoard
from course.training.multihost.worker_thread import WorkerThread
from course.training.records import Deposed, TrainingError, TrainingResult
from course.training.worker.device import own_device


@dataclass(frozen=True)
class Role:
    """Which part of which training a process has: task `index` of `job` ("ps" or "worker") of `spec`.

    `plan`: None for a ps, which is told all it needs. `certificate`: None for plain TCP. `patience`: seconds to wait
    for the scheduler, for the other roles, and without any worker. `hooks`, `checkpoint_dir`, `resume`: as for `train`,
    used where this process is the chief. `simulated_gpus`: count and model of those that the task has, None for none.
    """

    spec: ClusterSpec
    job: str
    index: int
    plan: TrainingPlan | None
    certificate: Certificate | None = None
    patience: float = TASK_WAITS
    hooks: tuple[Hook, ...] = ()
    checkpoint_dir: str | None = None
    resume: bool = True
    simulated_gpus: tuple[int, str] | None = None

    @property
    def name(self) -> str:
        """The task's name, such as "/job:worker/task:0"."""
        return f"/job:{self.job}/task:{self.index}"


def run_role(role: Role, outcome: Callable[[TrainingResult], Iterable[str]] | None, say: Callable[[str], None]) -> int:
    """Do the role's part until training is done; return the exit code: 0, or 1 when training has failed.

    `outcome`: from a `TrainingResult` to lines of text; the chief calls it. `say`: takes a line for the reader. Raises
    TrainingError, RuntimeError or TimeoutError with a sentence when this role can't go on, SystemExit on SIGTERM.
    """
    with taken(_leave, signal.SIGTERM), ExitStack() as held:
        me = Member(role.spec, role.job, role.index, role.certificate, role.patience, role.simulated_gpus)
        membership = held.enter_context(joined(me, say))
        target = {"security": security(role.certificate)} if role.certificate else {"insecure": True}
        cluster = held.enter_context(connect(role.spec, timeout=role.patience, wait=False, **target))
        board = StatusBoard(cluster)
        _gather(role, cluster, board, say)
        if role.job == "worker":
            return _work(role, cluster, board, membership, outcome, say)
        return _serve(role, cluster, board, membership, say)


def _gather(role, cluster, board, say):
    """Wait for all roles of the spec, or for a training that runs already; TrainingError with who is missing."""
    deadline, said = time.monotonic() + role.patience, None
    while board.read() is None and (missing := cluster.missing()):
        if missing != said:
            say(f"{role.name} waits for {', '.join(missing)}")
            said = missing
        if time.monotonic() > deadline:
            raise TrainingError(
                f"{', '.join(missing)} had not come after {role.patience:g} s. Start every role with the same hosts "
                "and certificate, or give --patience more seconds."
            )
        time.sleep(ROLE_LOOKS_EVERY)


def _serve(role, cluster, board, membership, say):
    """Let this process's task keep shards until training is over."""
    seen = asked = time.monotonic()
    while (notice := board.read()) is None or notice.phase == "running":
        _check(membership)
        _tell_news(board, role, say)
        if time.monotonic() - asked > ROLE_LISTS_TASKS_EVERY:
            asked = time.monotonic()
            seen = asked if any(task.startswith("/job:worker/") for task in cluster.tasks) else seen
        if time.monotonic() - seen > role.patience + ROLE_LISTS_TASKS_EVERY:
            raise TrainingError(f"no worker has been there for {role.patience:g} s. Start them again, then this role.")
        time.sleep(ROLE_LOOKS_EVERY)
    if role.spec.scheduler_task == role.name:
        deadline = time.monotonic() + LAST_NOTICE_READ  # the others read the notice from this process
        while time.monotonic() < deadline and set(cluster.tasks) - {role.name}:
            time.sleep(ROLE_LOOKS_EVERY)
    return _end(notice, say)


def _work(role, cluster, board, membership, outcome, say):
    """Work wherever the chief says; be the chief while this process has the lease."""
    context = context_of(security(role.certificate), "worker")
    plan = role.plan
    if plan.device is not None:
        say(f"{role.name} computes on {str(DeviceList([own_device(plan.device)])).splitlines()[-1]}")
    worker_thread = WorkerThread(plan.problem, role.index, plan.settings.seed, context, plan.device)
    with closing(worker_thread), LeaderLease(cluster, role.name) as lease:
        while True:
            notice = board.read()
            if notice is not None and notice.phase != "running":
                return _end(notice, say)
            _check(membership)
            worker_thread.follow(notice and notice.addresses)
            _tell_news(board, role, say)
            if lease.mine:
                pool = ChiefPool(cluster, role.plan, board, lease, worker_thread, notice, role.checkpoint_dir)
                try:
                    _lead(role, pool, board, outcome, say)
                except Deposed as error:
                    say(f"{role.name}: {error} It goes on as a worker.")
            time.sleep(ROLE_LOOKS_EVERY)


def _lead(role, pool, board, outcome, say):
    """Train as the chief, and put up how it ended. Raises Deposed when the lease is lost on the way."""
    say(f"{role.name} is the chief" + (" now, and goes on where the one before was" if pool.took_over else ""))
    try:
        try:
            folder = pool.folder()
        except ValueError as error:
            say(f"NO CHECKPOINTS from here on: {error}")
            folder = None

        def tell(line):
            say(line)
            board.tell(line, role.name)

        result = train_with(pool, (*role.hooks, SayProgress(tell)), folder, resume=role.resume)
        pool.post("done", "\n".join(outcome(result)))
    except Deposed:
        raise
    except Exception as error:  # a hook may raise anything; every role is to hear of it
        pool.post("failed", f"{type(error).__name__}: {error}")


def _tell_news(board, role, say):
    for line in board.news(role.name):
        say(line)


def _end(notice, say):
    for line in notice.text.splitlines():
        say(line)
    return 0 if notice.phase == "done" else 1


def _check(membership):
    if membership.ended is not None:
        raise TrainingError(membership.ended)


def _leave(number, frame):
    signal.signal(number, signal.SIG_IGN)  # once is enough: everything is closed on the way out
    sys.exit(128 + number)
