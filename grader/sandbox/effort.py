"""What a question took of a sandbox, seen from outside, without what other programs on this machine made it wait.

On a busy machine the clock shows mostly the queue for a processor: an honest quick answer could lose a race by it. The
kernel tells how long each thread ran and how long it queued, and a control group what all processes used together,
also those that ended in between. Nothing of that is the sandboxed program's word.
"""

import os
from dataclasses import dataclass, field

from grader.sandbox.watch import processes_below

NANO = 1e-9


@dataclass(frozen=True)
class Look:
    """Seconds up to now: `used` by the whole group, `ran` and `queued` by thread, `own`: what our thread queued."""

    used: float
    ran: dict = field(default_factory=dict)
    queued: dict = field(default_factory=dict)
    own: float = 0.0


def look(root, group):
    """Return the `Look` at the process `root` and all below it, in `group`; None where the kernel doesn't count."""
    used = group.cpu_seconds()
    if used is None:
        return None
    ran, queued = {}, {}
    try:
        own = _schedule("/proc/thread-self/schedstat")[1]
        for process in processes_below(root):
            for thread in os.listdir(f"/proc/{process}/task"):
                ran[thread], queued[thread] = _schedule(f"/proc/{process}/task/{thread}/schedstat")
    except (OSError, ValueError):
        return None  # one ended while we looked, or this kernel keeps no such account: then the clock is what there is
    return Look(used, ran, queued, own)


def effort(before, after, seconds, processors=None):
    """Return the seconds that remain of `seconds` between two `Look`s (None: no such thing) without the queueing.

    Time spent asleep remains. Never less than the busiest thread ran, nor than all together would have needed on all
    `processors`: who queues behind processes of its own gains nothing.
    """
    if before is None or after is None:
        return seconds
    processors = processors or len(os.sched_getaffinity(0))
    ran = [after.ran[thread] - before.ran.get(thread, 0.0) for thread in after.ran]
    queued = [after.queued[thread] - before.queued.get(thread, 0.0) for thread in after.queued]
    alone = seconds - max(queued, default=0.0) - (after.own - before.own)
    least = max(ran, default=0.0), (after.used - before.used) / processors
    return min(seconds, max(alone, *least))


def _schedule(path):
    with open(path, encoding="ascii") as file:
        ran, queued, _ = file.read().split()
    return int(ran) * NANO, int(queued) * NANO
