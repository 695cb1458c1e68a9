"""How a tape joins the clocks of processes: every time on it is the scheduler's, which this process asks for its own.

A task's clock is joined where the task runs: `TaskWorker.scheduler_delay` in `course/cluster/task/task.py`.
"""

import time

from distributed import Client

_PINGS = 5


async def seconds_ahead(client: Client) -> tuple[float, str]:
    """Return by how many seconds the scheduler's clock is ahead of this process's, and how that was measured.

    0 on loopback. Elsewhere the quickest of five round trips, taken to be as long one way as the other (D. Mills, RFC
    5905, section 8), so the error is at most half of it.
    """
    host = client.scheduler.addr.partition("://")[2].rpartition(":")[0]
    if host in ("127.0.0.1", "localhost", "[::1]"):
        return 0.0, "all processes are on one machine and read its clock"
    half, ahead = min([await _ping(client) for _ in range(_PINGS)])
    words = f"this process by {_PINGS} questions, to {1000 * half:.1f} ms; tasks by Dask's heartbeats"
    return ahead, f"the scheduler's clock: {words}"


async def _ping(client):
    """Return (half of a round trip to the scheduler, how far its clock is ahead if both ways are equal), in seconds."""
    sent = time.time()
    scheduler_time = await client.run_on_scheduler(time.time)
    received = time.time()
    return (received - sent) / 2, scheduler_time - (sent + received) / 2
