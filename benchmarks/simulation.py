"""What simulated GPUs add to an op: microseconds beside the bare op and beside torch's bare mode, in one run."""

import torch
import torch.utils.benchmark as benchmark

from benchmarks.placement import BareDispatchMode
from benchmarks.report import Row
from course import simulated_gpus

STATEMENTS = ("a + b", "a @ b", "a.relu()", "a.sum(dim=0)", "a.add_(b)", "torch.cat([a, b])", "a.view(-1)")


def rows():
    """Yield what a simulated op costs more than the same op on the CPU, in microseconds."""
    plain = {"a": torch.ones(4, 4), "b": torch.ones(4, 4), "torch": torch}
    for statement in STATEMENTS:
        bare, dispatched, simulated = _best(statement, plain)
        yield Row(
            f"simulation adds to {statement}", simulated - bare, "µs an op", "a bare mode's", dispatched - bare, "≤ 30"
        )


def _best(statement, plain, rounds=150):
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
