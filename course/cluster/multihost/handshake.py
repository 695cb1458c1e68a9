"""The handshake before a task joins: the scheduler says at once why it may not: other versions, another spec."""

import asyncio
import functools
import importlib.metadata
import sys
import time
from collections.abc import Callable

from distributed.core import rpc

import course
from course.cluster.certificates import security
from course.cluster.multihost.reachability import Refused, reach_within
from course.cluster.task.task import TaskSettings
from course.deadlines import HANDSHAKE_ANSWER, JOIN_AGAIN_EVERY


@functools.cache  # reading a package's metadata takes a scheduler's time, and `identity` is asked for often
def versions() -> dict[str, str]:
    """Return what must be the same in all members: what they send each other depends on it."""
    installed = {"course": course.__version__, "python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for package in ("distributed", "torch"):
        # without +cpu or +cu128: such builds understand each other
        installed[package] = importlib.metadata.version(package).partition("+")[0]
    return installed


async def request_handshake(me: TaskSettings, first: bool, say: Callable[..., None]) -> None:
    """Ask the scheduler whether the task `me` may join; wait for it at most `me.patience` seconds.

    `first`: whether it is for the first time; then `say` gets a line when it has to wait for long. Raises Refused
    with the reason, OSError when there is no scheduler in time.
    """

    def waiting(reason):
        say(f"{me.name} waits for the scheduler, {me.scheduler}: {reason}. {me.advice}", flush=True)

    deadline = time.monotonic() + me.patience
    connection = security(me.certificate).get_connection_args("worker")
    while True:
        remaining = max(0.0, deadline - time.monotonic())
        await reach_within(remaining, me.scheduler_address, connection, first, waiting if first else None)
        try:
            reason = await asyncio.wait_for(_answer_of_scheduler(me, connection), HANDSHAKE_ANSWER)
        except (OSError, TimeoutError) as error:
            reason = f"the scheduler has not answered for {HANDSHAKE_ANSWER:.0f} s ({error or type(error).__name__})"
        if reason is None:
            return
        if time.monotonic() > deadline:
            raise OSError(reason)
        await asyncio.sleep(JOIN_AGAIN_EVERY)


async def _answer_of_scheduler(me, connection):
    """Return None where the task may join, or why it is worth asking again; raise Refused where it isn't."""
    async with rpc(me.scheduler, connection_args=connection, timeout=HANDSHAKE_ANSWER) as scheduler:
        theirs = (await scheduler.identity(n_workers=0)).get("course")
        if theirs is None:
            raise Refused(f"{me.scheduler_address} is a scheduler, but none that `python -m course task` started")
        try:
            answer = await scheduler.handshake(name=me.name, address=f"{me.host}:{me.port}", versions=versions())
        except OSError:
            raise
        except Exception as error:  # Dask: what the scheduler raised there, such as another version's TypeError
            other = other_versions(theirs["versions"], ("the scheduler", "this task"))
            raise Refused(other or f"the scheduler could not answer: {error}") from error
    if answer["refused"] and not answer["wait"]:
        raise Refused(answer["refused"])
    return answer["refused"]


def other_versions(theirs: dict[str, str], names: tuple[str, str]) -> str | None:
    """Return what is not the same in `theirs` as in this process, as a sentence, or None. `names`: of the two."""
    own = versions()
    for package in own:
        if theirs.get(package) != own[package]:
            return (
                f"{names[0]} has {package} {theirs.get(package)}, {names[1]} {package} {own[package]}. "
                "Install the same versions everywhere, by the same environment.yml"
            )
    return None
