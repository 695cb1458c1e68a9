"""Workers that Dask's own deployers name get tasks' names from their scheduler, and keep them."""

import asyncio
from types import SimpleNamespace

import torch
from distributed import LocalCluster, Scheduler, Worker

from course import log_placement
from course.cluster.cluster import Cluster
from course.deploy.clouds.named_tasks import NamedTasks, TaskParts

PS, FIRST, SECOND = TASKS = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]


async def names_of(*lives):
    """Return, after each life of a worker, task -> the deployer's name; "a" comes, "-a" goes."""
    seen, workers = [], {}
    async with Scheduler(dashboard=False, port=0) as scheduler:
        await scheduler.register_scheduler_plugin(NamedTasks(TASKS), idempotent=True)
        for life in lives:
            if life.startswith("-"):
                await workers.pop(life[1:]).close()
            else:
                workers[life] = await Worker(scheduler.address, name=life, nthreads=1)
            own = {worker.address: name for name, worker in workers.items()}
            seen.append({str(state.name): own[address] for address, state in scheduler.workers.items()})
            assert all(
                scheduler.aliases[name] == where
                for name, where in {state.name: address for address, state in scheduler.workers.items()}.items()
            )
        for worker in workers.values():
            await worker.close()
    return seen


def test_workers_become_tasks_as_they_join_and_one_that_comes_back_is_what_it_was():
    *_, three, gone, back = asyncio.run(names_of("a", "b", "c", "-b", "b"))
    assert three == {PS: "a", FIRST: "b", SECOND: "c"}
    assert gone == {PS: "a", SECOND: "c"} and back == three


def test_one_worker_too_many_takes_the_place_of_the_next_that_leaves():
    *_, four, after = asyncio.run(names_of("a", "b", "c", "d", "-a"))
    assert four == {PS: "a", FIRST: "b", SECOND: "c", "d": "d"}
    assert after == {PS: "d", FIRST: "b", SECOND: "c"}


def test_a_worker_of_dasks_own_places_and_logs_ops_as_a_task_does():
    alone = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**alone) as workers, workers.get_client() as client, log_placement() as log:
        client.register_plugin(TaskParts())
        runtime = SimpleNamespace(watch=lambda client, work: lambda: None, thread=None, close=lambda: None)
        cluster = Cluster(client, runtime)
        cluster._closing.detach()  # nothing of it is to be closed but what closes itself here
        assert cluster.executor.submit(torch.add, torch.ones(1), 1).result(timeout=20) == 2
    assert [record.op for record in log][-1:] == ["add"]
