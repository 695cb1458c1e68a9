"""What placement and its log add to an op: microseconds beside the bare op and beside torch's bare mode, in one run."""

from contextlib import nullcontext

import torch
import torch.utils.benchmark as benchmark
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.report import Row
from course import log_placement, place


class BareFunctionMode(TorchFunctionMode):
    """Sees every function and passes it on: the least that a placement can cost."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class BareDispatchMode(TorchDispatchMode):
    """Sees every op and passes it on: the least that a log can cost."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # as the log does: torch's default loads its compiler and adds two calls an op

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


#: What is timed -> how many ops torch runs for it.
STATEMENTS = {
    "a @ b": 1,
    "a.sum(dim=0)": 1,
    "torch.cat([a, b])": 1,
    "a.add_(b)": 1,
    "torch.zeros(4)": 1,
}
TRAINING = "(c @ b).relu().sum().backward()"


def rows():
    """Yield what `place` and `log_placement` add per op, in microseconds."""
    a, b = torch.ones(4, 4), torch.ones(4, 4)
    names = {"torch": torch, "a": a, "b": b, "c": torch.ones(4, 4, requires_grad=True)}
    with log_placement() as log:
        exec(TRAINING, names)
    for statement, count in {**STATEMENTS, TRAINING: len(log)}.items():
        modes = [nullcontext(), BareFunctionMode(), place("/cpu:0"), BareDispatchMode(), log_placement()]
        bare, function, placed, dispatch, logged = (t / count for t in _interleaved(statement, names, modes))
        shown = "a backward pass" if statement == TRAINING else statement
        yield Row(f"place adds to {shown}", placed - bare, "µs an op", "a bare mode's", function - bare, "≤ 5")
        yield Row(f"log_placement adds to {shown}", logged - bare, "µs an op", "a bare mode's", dispatch - bare, "≤ 15")


def _interleaved(statement, names, modes, rounds=150):
    """Return the microseconds of `statement` in each mode: the best of `rounds`, taken in turn.

    Other work on the machine only ever adds time. A batch is short, about a millisecond, to fit between its turns.
    """
    timer = benchmark.Timer(statement, globals=names, num_threads=1)
    best = [float("inf")] * len(modes)
    for _ in range(rounds):
        for index, mode in enumerate(modes):
            with mode:
                best[index] = min(best[index], timer.timeit(30).mean * 1e6)
    return best
