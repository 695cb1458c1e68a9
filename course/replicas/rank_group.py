"""One rank's side, in its task: meet the others in a folder, connect to them by gloo, run the function, leave no group.

A process outlives the groups that it was in, so anything that one run leaves behind would spoil the next. Three rules
prevent that: no rank begins before all are connected, every wait has an end, and a rank that failed to connect
forgets that it tried.
"""

import os
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from course.cluster.tape.on_worker import notes_here

#: For all ranks to find each other: a busy laptop, not a hang.
RANKS_MEET = 30.0
#: For gloo to connect one rank to another, once; it tries five times.
RANKS_CONNECT = 5.0
#: For all ranks to be connected: gloo's five tries.
RANKS_CONNECTED = 25.0

LOOPBACK = "127.0.0.1"
Result = TypeVar("Result")


class RankError(RuntimeError):
    """A rank failed or went silent: the message names its task and what happened."""


class PeerError(RuntimeError):
    """A reduction failed in one rank because of another one."""


def run_as_rank(
    function: Callable[..., Result], rank: int, size: int, folder: str, silence: float, arguments: tuple
) -> Result:
    """Join the `size` ranks that meet in `folder`, return `function(rank, size, *arguments)`, leave the group.

    `silence`: seconds after which a reduction gives up. Raises PeerError where other ranks are to blame, RankError for
    a rank that runs a second time, and what the function raises.
    """
    from torch import distributed

    _first_time(folder, rank)
    os.environ["GLOO_SOCKET_IFNAME"] = _loopback_interface()  # or gloo listens on whatever the host's name means
    try:
        failed = _join(rank, size, folder, timedelta(seconds=silence))
        if failed is None:
            notes = notes_here()
            with notes.reductions(distributed, size) if notes else nullcontext():
                return function(rank, size, *arguments)
    except RuntimeError as error:
        if not (isinstance(error, distributed.DistError) or "gloo" in str(error)):
            raise
        failed = f"a reduction failed: {error}"  # its text alone: its traceback would keep the group and its port
    finally:
        _leave()
        os.environ.pop("GLOO_SOCKET_IFNAME", None)
    raise PeerError(failed)


def _join(rank, size, folder, silence):
    """Meet the other ranks and connect to them; return None, or why that failed, as text."""
    from torch import distributed

    store = distributed.FileStore(str(Path(folder, "store")), size)
    store.set_timeout(timedelta(seconds=RANKS_CONNECT))  # by default it looks for 5 minutes into a folder that is gone
    doing = "meet"
    try:
        _all_say("here", store, rank, size, RANKS_MEET)  # a task may be slow to start, but not to answer
        doing = "connect"
        patience = timedelta(seconds=RANKS_CONNECT)
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=patience)
        # A rank that dies in its function while others still connect to it would hold them up for all of gloo's tries.
        _all_say("connected", store, rank, size, RANKS_CONNECTED)
    except RuntimeError as error:
        return f"the ranks could not {doing}: {error}"
    distributed.distributed_c10d._set_pg_timeout(silence)  # connecting has its own; no public name for this as yet
    return None


def _all_say(word, store, rank, size, seconds):
    store.set(f"{word}-{rank}", "yes")
    store.wait([f"{word}-{other}" for other in range(size)], timedelta(seconds=seconds))


def _leave():
    """Leave no group, and no count of groups: it is in the keys under which the next run's ranks find each other."""
    from torch import distributed

    if not distributed.is_initialized():  # it never came about, and PyTorch counts it none the less
        distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    distributed.destroy_process_group()


def _first_time(folder, rank):
    """Refuse to run a rank twice: Dask runs the work of a dead task again, and its old group does not wait for it."""
    try:
        Path(folder, f"rank-{rank}").touch(exist_ok=False)
    except FileExistsError:
        raise RankError(f"rank {rank} died; its successor can't take its place in the middle") from None


def _loopback_interface():
    import psutil

    addresses = psutil.net_if_addrs().items()
    return next(name for name, own in addresses if any(address.address == LOOPBACK for address in own))
