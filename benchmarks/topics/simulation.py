"""What simulated GPUs add to an op: microseconds, beside what torch's bare mode adds, in one process."""

import torch
from torch.utils import benchmark

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from benchmarks.topics.placement import BareDispatchMode
from course import simulated_gpus

STATEMENTS = ("a + b", "a @ b", "a.relu()", "a.sum(dim=0)", "a.add_(b)", "torch.cat([a, b])", "a.view(-1)")
_OURS, _BARE = "simulated_gpus", "a bare mode"


def contests(quick, places):
    """Yield what each statement costs more on a simulated GPU than on the CPU."""
    pair, targets = (Contestant(_OURS, kind=OURS), Contestant(_BARE)), (Target(_OURS, most=30),)
    named = tuple(Contest(_title(one), "µs an op", pair, "less", targets=targets) for one in STATEMENTS)
    work = Contestant("simulation", f"{__name__}:figures", {"rounds": 60 if quick else 150}, OURS)
    yield Together((work,), named, rounds=2 if quick else 5)


def _title(statement):
    return f"simulation adds to {statement}"


def figures(rounds):
    """Time every statement bare, in a bare mode and simulated."""
    return Work(lambda: _measured(rounds), figures=True, warm_ups=0)


def _measured(rounds):
    plain = {"a": torch.ones(4, 4), "b": torch.ones(4, 4), "torch": torch}
    found = {}
    for statement in STATEMENTS:
        bare, dispatched, simulated = _best(statement, plain, rounds)
        found[_title(statement)] = {_OURS: simulated - bare, _BARE: dispatched - bare}
    return found


def _best(statement, plain, rounds):
    """Return the microseconds of `statement` bare, in a bare mode and simulated: the best of `rounds`, in turn."""
    best = [float("inf")] * 3
    mode = BareDispatchMode()
    for _ in range(rounds // 15):
        for _ in range(15):
            best[0] = min(best[0], _microseconds(statement, plain))
            with mode:
                best[1] = min(best[1], _microseconds(statement, plain))
        with simulated_gpus(1):
            there = {"torch": torch, "a": plain["a"].to("cuda"), "b": plain["b"].to("cuda")}
            for _ in range(15):
                best[2] = min(best[2], _microseconds(statement, there))
    return best


def _microseconds(statement, names):
    return benchmark.Timer(statement, globals=names, num_threads=1).timeit(30).mean * 1e6
