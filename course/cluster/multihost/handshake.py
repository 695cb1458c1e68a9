"""The handshake before a task joins: it hears at once why it can't: another version, another spec, a taken name."""

import asyncio
import functools
import importlib.metadata
import sys
import time

from distributed.core import rpc

import course
from course.cluster.certificates import security
from course.cluster.multihost.reachability import Refused, reach_within
from course.deadlines import HANDSHAKE_ANSWER, JOIN_AGAIN_EVERY, TASK_HEARD_LATELY


@functools.cache  # reading a package's metadata takes a scheduler's time, and `identity` is asked for often
def versions():
    """Return what must be the same in all members: what they send each other depends on it."""
    found = {"course": course.__version__, "python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for package in ("distributed", "torch"):
        found[package] = importlib.metadata.version(package).partition("+")[0]  # +cpu and +cu128 understand each other
    return found


async def request_handshake(me, first, say):
    """Ask the scheduler whether `me`, a `Member`, may join; wait for it at most `me.patience` seconds.

    `first`: whether it is for the first time; then `say` gets a line when the scheduler lets us wait. Raises Refused
    with the reason, OSError when there is no scheduler in time.
    """

    def waiting(reason):
        starts_it = me.spec.scheduler_task or "the scheduler's task"
        say(f"{me.name} waits for the scheduler, {me.session_target}: {reason}. Start {starts_it}", flush=True)

    deadline = time.monotonic() + me.patience
    connection = security(me.certificate).get_connection_args("worker")
    while True:
        left = max(0.0, deadline - time.monotonic())
        await reach_within(left, me.spec.scheduler, connection, first, waiting if first else None)
        try:
            reason = await asyncio.wait_for(_asked(me, connection), HANDSHAKE_ANSWER)
        except (OSError, TimeoutError) as error:
            reason = f"the scheduler has not answered for {HANDSHAKE_ANSWER:.0f} s ({error or type(error).__name__})"
        if reason is None:
            return
        if time.monotonic() > deadline:
            raise OSError(reason)
        await asyncio.sleep(JOIN_AGAIN_EVERY)


async def _asked(me, connection):
    """Return None where we may join, or why it is worth asking again; raise Refused where it isn't."""
    async with rpc(me.session_target, connection_args=connection, timeout=HANDSHAKE_ANSWER) as scheduler:
        theirs = (await scheduler.identity(n_workers=0)).get("course")
        if theirs is None:
            raise Refused(f"{me.spec.scheduler} is a scheduler, but none that `python -m course task` started")
        try:
            answer = await scheduler.handshake(name=me.name, address=me.address, versions=versions())
        except OSError:
            raise
        except Exception as error:  # raised over there, by a version that expects something else
            other = other_versions(theirs["versions"], ("the scheduler", "this task"))
            raise Refused(other or f"the scheduler could not answer: {error}") from error
    if answer["refused"] and not answer["wait"]:
        raise Refused(answer["refused"])
    return answer["refused"]


def answer_handshake(scheduler, name, address, versions):
    """The scheduler's answer: {"refused": a sentence or None, "wait": whether asking again may help}."""
    refused = other_versions(versions, ("this task", "the scheduler")) or _other_spec(scheduler.spec, name, address)
    if refused:
        scheduler.say(f"refused {name} from {address}: {refused}", file=sys.stderr, flush=True)
        return {"refused": refused, "wait": False}
    taken, fresh = _taken(scheduler, name)
    return {"refused": taken, "wait": not fresh}


def other_versions(theirs, who):
    """Return what is not the same in `theirs` as in this process, as a sentence, or None. `who`: names of the two."""
    ours = versions()
    for package in ours:
        if theirs.get(package) != ours[package]:
            return (
                f"{who[0]} has {package} {theirs.get(package)}, {who[1]} {package} {ours[package]}. "
                "Install the same versions everywhere, by the same environment.yml"
            )
    return None


def _other_spec(spec, name, address):
    job, index = name.split("/")[1].removeprefix("job:"), int(name.rpartition(":")[2])
    try:
        expected = spec.task_address(job, index)
    except (ValueError, IndexError) as error:
        return f"the scheduler's spec has no {name}: {error}. Give every member the same spec"
    if expected != address:
        return (
            f"{name} is {address} in this task's spec, {expected} in the scheduler's. Give every member the same spec"
        )
    return None


def _taken(scheduler, name):
    """Return why the name is taken (None: it isn't) and whether the one who has it was heard a moment ago."""
    there = scheduler.workers.get(scheduler.aliases.get(name))
    if there is None:
        return None, False
    text = (
        f"{name} is already a member, process {there.pid} at {there.address}. Stop that one first, or start this one "
        "with another --index"
    )
    return text, scheduler.watch.silence(there.address) < TASK_HEARD_LATELY
