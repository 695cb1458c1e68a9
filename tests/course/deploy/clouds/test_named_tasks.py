"""Workers that Dask's own deployers name get tasks' names from their scheduler, and keep them."""

import asyncio

from distributed import Scheduler, Worker

from course.deploy.clouds.named_tasks import NamedTasks

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
