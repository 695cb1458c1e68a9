"""Which tasks are there: a task that died has no address, one that is frozen or cut off has one and does not answer."""

import asyncio
import time
from contextlib import suppress

_ANSWER = 0.7  # seconds for a task to answer; its event loop does nothing else
_ASIDE = 2.0  # seconds that the successor of a lost task is waited for, while others could do its part
_ALONE = 30.0  # seconds to wait when no task is left at all


def present(cluster, tasks, patience=_ASIDE, alone=_ALONE):
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
