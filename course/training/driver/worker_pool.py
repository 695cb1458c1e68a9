"""Who opens the shards and who works: the tasks of a cluster that the session has a connection to."""

import asyncio
import time
from contextlib import contextmanager, suppress

from course.training.driver.shard_client import SILENCE, open_shards, run_worker_in_task
from course.training.records.errors import TrainingError

_ANSWER = 0.7  # seconds for a task to answer; its event loop does nothing else
_ASIDE = 2.0  # seconds that the successor of a lost task is waited for, while others could do its part
_ALONE = 30.0  # seconds to wait when no task is left at all
_AWAY = 1.0  # seconds that a loop has ended for, while training has not, until it is started again


class WorkerPool:
    """The ps tasks and worker tasks of `cluster` that take part in one training of `plan`.

    A worker's loop is a Dask function pinned to its task: it runs again on the successor of one that died. A task that
    was away or cut off for longer than the loop, or Dask, would wait gets a new one when it is back.
    """

    #: One session, from the beginning to the end: it took nothing over, and nobody else may.
    term, training, took_over = 0, None, False
    #: Whether the shards that `opened` gave last are another session's.
    attached = False

    def __init__(self, cluster, plan):
        self.cluster, self.plan = cluster, plan
        #: worker -> its loop's future, None while its task is away; worker -> when that was first seen done
        self._loops, self._ended = {}, {}

    @contextmanager
    def opened(self, ps, settings, incarnation, snapshot):
        """Within the `with`, shards run in the tasks `ps`; yields the `ShardClient` with them. Raises ShardLost."""
        plan = self.plan
        with open_shards(self.cluster, ps, plan.problem, plan.optimizer, settings, incarnation, snapshot) as client:
            yield client

    def ps_present(self):
        """Return those of the ps tasks that answer, after giving lost ones a moment to come back."""
        return tasks_present(self.cluster, self.plan.ps)

    @contextmanager
    def working(self, client):
        """Within the `with`, every worker task runs its loop; after a good end they are free again."""
        self._addresses, self._ended = client.addresses, {}
        try:
            for worker in range(len(self.plan.workers)):
                self._loops[worker] = None
                with suppress(ValueError):  # the task is away: its loop is sent when it is back
                    self._send(worker)
            yield
            _wait(self._futures())
        finally:
            for future in self._futures():
                future.release()
            self._loops = {}

    def check(self):
        """Raise TrainingError when the cluster is closed or its scheduler lost: nobody could be replaced any more.

        While training goes on, also send a new loop to a worker whose own has ended.
        """
        try:
            self.cluster.client  # noqa: B018 - asking for it is the check
        except RuntimeError as error:
            raise TrainingError(f"the cluster is gone: {error}") from error
        self._mend()

    def _mend(self):
        now = time.monotonic()
        done = [worker for worker, future in self._loops.items() if future is None or future.done()]
        self._ended = {worker: self._ended.get(worker, now) for worker in done}
        for worker in [worker for worker in done if now - self._ended[worker] > _AWAY]:
            self._ended[worker] = now
            before = self._loops[worker]
            with suppress(OSError, RuntimeError, ValueError):  # away still, or the scheduler is silent: later again
                if self.plan.workers[worker] in self.cluster.tasks:
                    self._send(worker)
                    if before is not None:
                        before.release()

    def _futures(self):
        return [future for future in self._loops.values() if future is not None]

    def _send(self, worker):
        with self.cluster.at(self.plan.workers[worker]):
            arguments = (self.plan.problem, worker, self._addresses, self.plan.seed)
            self._loops[worker] = self.cluster.client.submit(_run_worker_aside, *arguments, pure=False)


def warm_up(cluster, ps):
    """Have the `ps` tasks import what a first optimiser imports (seconds), while the caller does; return futures."""
    futures = []
    for task in ps:
        with cluster.at(task):
            futures.append(cluster.client.submit(_import_optimizers, pure=False))
    return futures


def _import_optimizers():
    import torch

    torch.optim.SGD([torch.zeros(1)], lr=0.1)


def _run_worker_aside(problem, worker, addresses, seed):
    """Run the loop beside the task's own thread: one that still waits for a lost ps must not hold up its successor."""
    from distributed import secede

    secede()
    return run_worker_in_task(problem, worker, addresses, seed)


def _wait(futures):
    """Give the worker loops a moment to see the end, so that the next training finds the machine quiet."""
    deadline = time.monotonic() + SILENCE
    while time.monotonic() < deadline and not all(future.done() for future in futures):
        time.sleep(0.005)


def tasks_present(cluster, tasks, patience=_ASIDE, alone=_ALONE):
    """Return those of `tasks` (names) that answer: all, or after `patience` seconds those that are there.

    With none of them there it waits for `alone` seconds and then returns an empty list. A frozen task of a local
    cluster is ended, so that its successor comes at once; elsewhere it is left to those who started it.
    """
    began, ended = time.monotonic(), set()
    while True:
        here, silent = _answering(cluster, tasks)
        waited = time.monotonic() - began
        if len(here) == len(tasks) or waited > (patience if here else alone):
            return [task for task in tasks if task in here]
        for task in silent - ended:
            ended.add(task)
            with suppress(RuntimeError):  # not a local cluster, which alone can end and replace a task
                cluster.kill(task)
        time.sleep(0.05)


def _answering(cluster, tasks):
    """Return (the tasks that answer, those that are listed and don't), as sets of names."""
    client = cluster.client
    asking = asyncio.run_coroutine_threadsafe(_ask(client, set(tasks)), client.loop.asyncio_loop)
    try:
        return asking.result()
    except OSError:  # the scheduler is silent or gone; whether for good, others judge
        return set(), set()


async def _ask(client, tasks):
    listed = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), 2 * _ANSWER)
    addresses = {worker["name"]: address for address, worker in listed["workers"].items() if worker["name"] in tasks}
    answers = await asyncio.gather(*(_answer(client, address) for address in addresses.values()))
    told = dict(zip(addresses, answers, strict=True))
    return {task for task, word in told.items() if word == "here"}, {t for t, word in told.items() if word == "silent"}


async def _answer(client, address):
    try:
        await asyncio.wait_for(client.rpc(address).identity(), _ANSWER)
    except TimeoutError:
        return "silent"
    except OSError:
        return "gone"
    return "here"
