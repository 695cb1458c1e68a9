"""The classic form: each role of a training is a process that a person starts by hand, in any order, on any host."""

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial

from course.cluster import ClusterSpec, connect
from course.cluster.certificates import Certificate, security
from course.cluster.multihost.serve import joined
from course.cluster.multihost.which_task import Member
from course.cluster.routes import Routes
from course.deadlines import REACH, TASK_WAITS
from course.devices import DeviceList
from course.training.driver.shard_client import context_of
from course.training.driver.train import train_with
from course.training.driver.training_plan import TrainingPlan
from course.training.hooks.base import Hook
from course.training.hooks.progress import SayProgress
from course.training.multihost.chief_election import ChiefLease
from course.training.multihost.chief_pool import CHIEF_SUCCESSOR, ChiefPool
from course.training.multihost.leaving import leaving_on_sigterm
from course.training.multihost.status_board import SchedulerLost, StatusBoard
from course.training.multihost.worker_reports import OwnLines, OwnParameters, OwnSummaries
from course.training.multihost.worker_thread import WorkerThread
from course.training.records import Deposed, Route, TrainingError, TrainingResult, in_words
from course.training.worker.device import own_device

#: Between two looks of a role at the status board.
ROLE_LOOKS_EVERY = 0.3
#: Between two questions of a ps role to the scheduler about which tasks there are; they cost it more.
ROLE_LISTS_TASKS_EVERY = 2.0
#: The scheduler's process stays for so long at the end, for the others to read the last notice.
LAST_NOTICE_READ = 5.0

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Role:
    """Which part of which training a process has: task `index` of `job` ("ps" or "worker") of `spec`.

    `plan`: None for a ps, whose shards the chief opens. `certificate`: None for plain TCP. `patience`: seconds to wait
    for the scheduler, for the other roles, and without any worker. `hooks`, `checkpoint_dir`, `resume`: as for `train`,
    used where this process is the chief. `simulated_gpus`: count and model of those that the task has, None for none.
    `routes`: how this process finds the scheduler, ps tasks and shards. `ports`: where its own shards may listen, as
    "4000:4100"; None for any. `parameters_every`: versions between two lines of a worker's parameters and loss,
    `own_summaries`: a folder for an event file of this process's own; None for none.
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
    routes: Routes = field(default_factory=Routes)
    ports: str | None = None
    parameters_every: int | None = None
    own_summaries: str | None = None

    @property
    def name(self) -> str:
        """The task's name, such as "/job:worker/task:0"."""
        return f"/job:{self.job}/task:{self.index}"

    @property
    def route(self) -> Route | None:
        """How this process finds shards, None: straight."""
        return self.routes or None


def run_role(role: Role, outcome: Callable[[TrainingResult], Iterable[str]] | None, say: Callable[[str], None]) -> int:
    """Do the role's part until training is done; return the exit code: 0, or 1 when training has failed.

    `outcome`: from a `TrainingResult` to lines of text; the chief calls it. `say`: takes a line for the reader. A
    scheduler that is lost is waited for, as long as the role's patience: training goes on with its successor. Raises
    TrainingError, RuntimeError or TimeoutError with a sentence when this role can't go on. SIGTERM ends the process.
    """
    # a loop in mid-gradient is waited for where Python ends, so not on SIGTERM
    with ExitStack() as at_end, leaving_on_sigterm(say) as say, ExitStack() as held:
        if role.job == "ps" and role.own_summaries is not None:
            say = at_end.enter_context(closing(OwnLines(say, role.own_summaries)))
        if role.job == "worker":
            play = at_end.enter_context(closing(_Worker(role, outcome, say))).play
        else:
            play = partial(_play_ps, role)
        membership, last = held.enter_context(joined(_member(role), say)), None
        while True:
            with _connected(role, membership) as cluster:
                board = StatusBoard(cluster, last)
                try:
                    _gather(role, cluster, board, say)
                    notice = play(cluster, board, membership, say)
                    break
                except SchedulerLost as error:  # the membership tells the reader, and tries to join again
                    _LOG.info("%s: %s", role.name, error)
                    last = board.last
        _LOG.info("%s: training is over: %s", role.name, notice.phase)
        for line in notice.text.splitlines():
            say(line)
        return 0 if notice.phase == "done" else 1


def _member(role):
    place, means = (role.spec, role.job, role.index), (role.certificate, role.patience, role.simulated_gpus)
    return Member(*place, *means, routes=role.routes, ports=role.ports)


def _connected(role, membership):
    """Return a `Cluster`, as soon as the scheduler answers; TrainingError when the membership has given up."""
    target = {"security": security(role.certificate)} if role.certificate else {"insecure": True}
    while True:
        _check(membership)
        with suppress(TimeoutError, ConnectionError):  # its reason is the membership's too, which tells it
            return connect(membership.session_target, timeout=REACH, wait=False, **target)
        time.sleep(ROLE_LOOKS_EVERY)


def _gather(role, cluster, board, say):
    """Wait for all roles of the spec, or for a training that runs already; TrainingError names those missing."""
    deadline, announced, missing = time.monotonic() + role.patience, None, None
    while board.read() is None and missing != []:
        missing = _answer_of(cluster.missing)
        if missing and missing != announced:
            say(f"{role.name} waits for {', '.join(missing)}")
            announced = missing
        if missing and time.monotonic() > deadline:
            raise TrainingError(
                f"{', '.join(missing)} had not come after {role.patience:g} s. Start every role with the same hosts "
                "and certificate, or give --patience more seconds."
            )
        time.sleep(ROLE_LOOKS_EVERY)


def _answer_of(ask):
    """Return what the scheduler answers, None where it is silent: the status board judges for how long it may be."""
    try:
        return ask()
    except RuntimeError:
        return None


def _play_ps(role, cluster, board, membership, say):
    """Keep shards until training is over; return the last notice. TrainingError without any worker, SchedulerLost."""
    listed = worker_listed = time.monotonic()
    while (notice := board.read()) is None or notice.phase == "running":
        _check(membership)
        _tell_news(board, role, say)
        if time.monotonic() - listed > ROLE_LISTS_TASKS_EVERY:
            listed = time.monotonic()
            tasks = _answer_of(lambda: cluster.tasks)
            if tasks is None or any(task.startswith("/job:worker/") for task in tasks):
                worker_listed = listed
        if time.monotonic() - worker_listed > role.patience + ROLE_LISTS_TASKS_EVERY:
            raise TrainingError(f"no worker has been there for {role.patience:g} s. Start them again, then this.")
        time.sleep(ROLE_LOOKS_EVERY)
    if role.spec.scheduler_task == role.name:
        deadline = time.monotonic() + LAST_NOTICE_READ  # the others read the notice from this process
        while time.monotonic() < deadline and set(_answer_of(lambda: cluster.tasks) or ()) - {role.name}:
            time.sleep(ROLE_LOOKS_EVERY)
    return notice


class _Worker:
    """The part of a worker role: it works wherever the chief says, and is the chief while it has the lease. Close it.

    Its loop goes on without a scheduler: shards and workers have connections of their own.
    """

    def __init__(self, role, outcome, say):
        self._role, self._outcome, plan = role, outcome, role.plan
        self._device = plan.device  # None once it is announced
        context = context_of(security(role.certificate), "worker")
        self._loop = WorkerThread(
            plan.problem,
            role.index,
            plan.settings.seed,
            context,
            plan.device,
            route=role.route,
            say=lambda line: say(f"{role.name} {line}"),
            reports=_reports(role, say),
        )

    def close(self):
        self._loop.close()

    def play(self, cluster, board, membership, say):
        """Return the last notice; raises SchedulerLost."""
        role, device, self._device = self._role, self._device, None
        if device is not None:
            say(f"{role.name} computes on {str(DeviceList([own_device(device)])).splitlines()[-1]}")
        with ChiefLease(cluster, role.name) as lease:
            while (notice := board.read()) is None or notice.phase == "running":
                _check(membership)
                self._loop.follow(notice and notice.addresses)
                self._loop.check(notice and notice.addresses)
                _tell_news(board, role, say)
                if lease.mine:
                    try:
                        _lead(role, self._pool(cluster, board, lease, notice), board, self._outcome, say)
                    except Deposed as error:
                        _LOG.info("%s is deposed: %s", role.name, error)
                        say(f"{role.name}: {error} It goes on as a worker.")
                time.sleep(ROLE_LOOKS_EVERY)
            return notice

    def _pool(self, cluster, board, lease, notice):
        role = self._role
        return ChiefPool(
            cluster,
            role.plan,
            board,
            lease,
            self._loop,
            before=notice,
            folder=role.checkpoint_dir,
            grace=max(CHIEF_SUCCESSOR, role.patience),
            route=role.route,
            training=role.spec.scheduler,
        )


def _reports(role, say):
    reports = []
    if role.parameters_every is not None:
        reports.append(OwnParameters(lambda line: say(f"{role.name} {line}"), role.parameters_every))
    if role.own_summaries is not None:
        reports.append(OwnSummaries(role.own_summaries))
    return reports


def _lead(role, pool, board, outcome, say):
    """Train as the chief, and put up how it ended. Raises Deposed when the lease is lost on the way."""
    say(f"{role.name} is the chief" + (" now, and goes on where the one before was" if pool.took_over else ""))
    _LOG.info("%s is the chief of term %d", role.name, pool.term)
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
    except Exception as error:  # the reader's hook or problem may raise anything; every role is to hear of it
        pool.post("failed", in_words(error))


def _tell_news(board, role, say):
    for line in board.news(role.name):
        say(line)


def _check(membership):
    if membership.ended is not None:
        raise TrainingError(membership.ended)
