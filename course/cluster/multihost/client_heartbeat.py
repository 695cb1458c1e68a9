"""The client's own heartbeat: Dask's client waits for ever for a scheduler that is frozen or cut off."""

import asyncio
import time

from distributed import Client

from course.cluster.executor import OpenWork
from course.deadlines import CLIENT_ASKS_EVERY, CLIENT_STOOD_STILL, LOST_CLIENT_CLOSES, SCHEDULER_SILENCE


async def watch_scheduler(client: Client, work: OpenWork, address: str) -> None:
    """Ask the scheduler at `address` again and again; once it is silent, fail all work of the Dask `client`.

    `work`, the cluster's `OpenWork`, is closed with the reason; Dask's own futures are cancelled with it.
    """
    heard = time.monotonic()
    while (left := heard + SCHEDULER_SILENCE - time.monotonic()) > 0:
        asked, pause = time.monotonic(), min(CLIENT_ASKS_EVERY, SCHEDULER_SILENCE / 4)
        answered = await _answers(client, left)
        await asyncio.sleep(pause)
        # frozen and thawed: then nothing is known
        we_stood_still = time.monotonic() - asked > left + pause + CLIENT_STOOD_STILL
        if answered or we_stood_still:
            heard = time.monotonic()
    reason = f"the scheduler at {address} has not answered for {SCHEDULER_SILENCE:g} s; connect again when it is back"
    work.close(reason)
    await _abandon(client, reason)


async def _answers(client, seconds):
    try:
        await asyncio.wait_for(client.scheduler.identity(n_workers=0), seconds)
    except (OSError, TimeoutError):
        return False
    return True


async def _abandon(client, reason):
    """Cancel what waits for the scheduler, and close the client, so that nothing new waits either."""
    for state in list(client.futures.values()):
        state.cancel(reason="scheduler-lost", msg=reason)
    closing = asyncio.ensure_future(client._close(fast=True))
    await asyncio.wait([closing], timeout=LOST_CLIENT_CLOSES)
