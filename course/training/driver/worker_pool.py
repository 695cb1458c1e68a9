"""The tasks that take part in a training: its ps tasks open shards, its worker tasks run loops, lost ones come back."""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING

import dask

from course.cluster.routes import found_at
from course.cluster.tape.on_worker import notes_here
from course.cluster.task.task import root
from course.deadlines import SOON_EVERY
from course.training.checkpoint.snapshot import Snapshot
from course.training.driver.shard_client import ShardClient, context_of, open_shards
from course.training.driver.training_plan import TrainingPlan
from course.training.records import Route, ShardAddresses, TrainingError, TrainingSettings, why_unread
from course.training.transport.wire import WIRE_SILENCE
from course.training.worker.device import found_in
from course.training.worker.worker_loop import run_worker

#: For a ps task to say that it is there; its event loop does nothing else.
PS_ANSWER = 0.7
#: For a ps task behind a route to do so: TLS, Dask's greeting and the question take six ways, of 0.1 s and more.
FAR_PS_ANSWER = 1.5
#: For the successor of a lost ps task to come, while others could take its part.
LOST_PS_SUCCESSOR = 2.0
#: For any ps task to come when none is left.
ANY_PS_COMES = 30.0
#: Before a worker's loop that ended is sent again: the training may just have ended too.
LOOP_SENT_AGAIN = 1.0

if TYPE_CHECKING:
    from distributed import Future

    from course.cluster.cluster import Cluster
    from course.devices import Device

_LOG = logging.getLogger(__name__)
_LAST_LINES = 10  # of a lost task's output: a traceback's end, or a word or two
_LOOK_EVERY = 0.05  # seconds between two questions to ps tasks that are not all there


class WorkerPool:
    """The ps tasks and worker tasks of `cluster` that take part in one training of `plan`.

    A worker's loop is a Dask function pinned to its task: it runs again on the successor of one that died. A task that
    was away or cut off for longer than the loop, or Dask, would wait gets a new one when it is back. `devices`: what
    each worker computes on, where the plan names a device. `route`: this process's own way to ps tasks and shards.
    """

    #: One driver, from the beginning to the end: it took nothing over, and no other driver may take it over.
    term, took_over = 0, False
    training: str | None = None
    #: Whether the shards that `shards_opened` gave last were opened by another driver.
    attached = False

    def __init__(
        self, cluster: "Cluster", plan: TrainingPlan, devices: "Sequence[Device]" = (), route: Route | None = None
    ):
        self.cluster, self.plan, self.devices, self.route = cluster, plan, devices, route
        self._addresses: ShardAddresses | None = None
        self._loops: dict[int, Future | None] = {}  # by worker; None while its task is away
        self._ended: dict[int, float] = {}  # worker -> when its loop was first seen done

    def shards_opened(
        self, ps: Sequence[str], settings: TrainingSettings, incarnation: int, snapshot: Snapshot | None
    ) -> AbstractContextManager[ShardClient]:
        """Within the `with`, shards run in the tasks `ps`; yields the `ShardClient` of them. Raises ShardLost."""
        return open_shards(self.cluster, ps, self.plan, settings, incarnation, snapshot, self.route)

    def ps_present(self) -> list[str]:
        """Return those of the ps tasks that answer: all, or after a moment for lost ones to come back those there are.

        With none of them there it waits for longer. A frozen task of a local cluster is ended, so that its successor
        comes at once; elsewhere it is left alone. Raises as `check` does.
        """
        began, ended = time.monotonic(), set()
        while True:
            self.check()
            here, silent = _answering(self.cluster, self.plan.ps, self.route)
            waited = time.monotonic() - began
            if len(here) == len(self.plan.ps) or waited > (LOST_PS_SUCCESSOR if here else ANY_PS_COMES):
                return [task for task in self.plan.ps if task in here]
            for task in silent - ended:
                ended.add(task)
                _LOG.info("%s does not answer: it is ended, where the cluster can replace it", task)
                with suppress(RuntimeError):  # not a local cluster, which alone can end and replace a task
                    self.cluster.kill(task)
            time.sleep(_LOOK_EVERY)

    @contextmanager
    def workers_running(self, client: ShardClient) -> Iterator[None]:
        """Within the `with`, every worker task runs its loop; after a good end they are free again."""
        self._addresses, self._ended = client.addresses, {}
        try:
            for worker in range(len(self.plan.workers)):
                self._loops[worker] = None
                with suppress(ValueError):  # the task is away: its loop is sent when it is back
                    self._send(worker)
            yield
            deadline = time.monotonic() + WIRE_SILENCE  # a moment to see the end: the next training finds quiet then
            while time.monotonic() < deadline and not all(future.done() for future in self._futures()):
                time.sleep(SOON_EVERY)
        finally:
            for future in self._futures():
                future.release()
            self._loops = {}

    def check(self) -> None:
        """Raise TrainingError when the cluster is closed or its scheduler lost: no task could be replaced any more.

        While training goes on, also send a new loop to a worker whose own has ended.
        """
        try:
            self.cluster.client  # noqa: B018 - asking for it is the check
        except RuntimeError as error:
            raise TrainingError(f"the cluster is gone: {error}") from error
        self._send_ended_loops()

    def _send_ended_loops(self):
        clock = time.monotonic()
        done = [worker for worker, future in self._loops.items() if future is None or future.done()]
        self._ended = {worker: self._ended.get(worker, clock) for worker in done}
        for worker in [worker for worker in done if clock - self._ended[worker] > LOOP_SENT_AGAIN]:
            self._ended[worker] = clock
            before = self._loops[worker]
            self._raise_what_failed(worker, before)
            with suppress(OSError, RuntimeError, ValueError):  # away still, or the scheduler is silent: later again
                if self.plan.workers[worker] in self.cluster.tasks:
                    _LOG.info("%s gets a new loop: its own has ended", self.plan.workers[worker])
                    self._send(worker)
                    if before is not None:
                        before.release()

    def _raise_what_failed(self, worker, loop):
        """Raise TrainingError where a loop could not begin; shard 0 reports what ends one later."""
        from distributed import KilledWorker

        if loop is None or loop.status != "error" or isinstance(error := loop.exception(), KilledWorker):
            return
        cause = root(error)  # Dask's own words for what a task couldn't read are longer, and don't say it
        raise TrainingError(f"{self.plan.workers[worker]} can't work: {why_unread(cause)}") from error

    def last_output(self, worker: int) -> str:
        """Return what the task of this worker printed last, as a sentence; of a task started by hand, where that is."""
        task = self.plan.workers[worker]
        try:
            lines = _last_lines(self.cluster.log(task))
        except (RuntimeError, ValueError):
            return f"What {task} printed last stands where it was started."
        return "\n".join([f"The last output of {task}:", *lines]) if lines else f"{task} printed nothing."

    def _futures(self):
        return [future for future in self._loops.values() if future is not None]

    def _send(self, worker):
        # "default": where a placement log is entered, it is not to gather a training's millions of ops
        with self.cluster.at(self.plan.workers[worker]), dask.annotate(executor="default"):
            addresses = self._addresses.by(self.plan.routes.get(worker))
            arguments = (self.plan.problem, worker, addresses, self.plan.settings.seed, self.plan.device)
            self._loops[worker] = self.cluster.client.submit(_run_worker_aside, *arguments, pure=False)


def worker_devices(cluster: "Cluster", plan: TrainingPlan) -> "Sequence[Device]":
    """Return the `Device` of each of the plan's workers, none where it names none; ValueError when one lacks it."""
    if plan.device is None:
        return []
    devices = cluster.devices()  # a `DeviceList`, which prints as a table
    own = {task: [device for device in devices if device.name.startswith(f"{task}/")] for task in plan.workers}
    return type(devices)(found_in(own[task], plan.device, task) for task in plan.workers)


def warm_up(cluster: "Cluster", ps: Sequence[str]) -> list["Future"]:
    """Have the `ps` tasks import what a first optimiser imports (seconds), while the caller does; return futures."""
    futures = []
    for task in ps:
        with cluster.at(task):
            futures.append(cluster.client.submit(_import_optimizers, pure=False))
    return futures


def _import_optimizers():
    import torch

    torch.optim.SGD([torch.zeros(1)], lr=0.1)


def _run_worker_aside(problem, worker, addresses, seed, device):
    """Run the loop beside the task's own thread: one that still waits for a lost ps must not hold up its successor."""
    from distributed import get_worker, secede

    secede()
    return run_worker(
        problem, worker, addresses, seed, context_of(get_worker().security, "worker"), device, notes_here()
    )


def _last_lines(output):
    """Return the last lines of what a task printed; where it crashed in C, those around the first word of that."""
    lines = [line[:200] for line in output.splitlines()]
    crash = max((at for at, line in enumerate(lines) if line.startswith("Fatal Python error")), default=None)
    end = len(lines) if crash is None else crash + _LAST_LINES // 2
    return lines[max(0, end - _LAST_LINES) : end]


def _answering(cluster, tasks, route):
    """Return (the tasks that answer, those that are listed and don't), as sets of names."""
    client = cluster.client
    asking = asyncio.run_coroutine_threadsafe(_ask(client, tasks, route), client.loop.asyncio_loop)
    try:
        return asking.result()
    except OSError:  # the scheduler is silent or gone; whether for good, others judge
        return set(), set()


async def _ask(client, tasks, route):
    listed = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), 2 * PS_ANSWER)
    addresses = {worker["name"]: address for address, worker in listed["workers"].items() if worker["name"] in tasks}
    seconds = FAR_PS_ANSWER if route else PS_ANSWER
    asking = (_answer(client, found_at(address, route), seconds) for address in addresses.values())
    answers = dict(zip(addresses, await asyncio.gather(*asking), strict=True))
    return tuple({task for task, answer in answers.items() if answer == wanted} for wanted in ("here", "silent"))


async def _answer(client, address, seconds):
    try:
        identity = await asyncio.wait_for(client.rpc(address).identity(), seconds)
    except TimeoutError:
        return "silent"
    except OSError:
        return "gone"
    return "gone" if identity.get("leaving") else "here"
