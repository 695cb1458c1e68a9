"""What placement and its log add to an op: microseconds, beside what torch's bare modes add, in one process."""

from contextlib import nullcontext

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import benchmark
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
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


TRAINING = "(c @ b).relu().sum().backward()"
STATEMENTS = ("a @ b", "a.sum(dim=0)", "torch.cat([a, b])", "a.add_(b)", "torch.zeros(4)", TRAINING)
_BARE = "a bare mode"


def contests(quick, places):
    """Yield for each statement what `place` adds and what `log_placement` adds."""
    named = []
    for statement in STATEMENTS:
        for what, most in (("place", 5), ("log_placement", 15)):
            pair = (Contestant(what, kind=OURS), Contestant(_BARE))
            named.append(Contest(_title(what, statement), "µs an op", pair, "less", targets=(Target(what, most=most),)))
    work = Contestant("placement", f"{__name__}:figures", {"rounds": 50 if quick else 150}, OURS)
    yield Together((work,), tuple(named), rounds=2 if quick else 5)


def _title(what, statement):
    return f"{what} adds to " + ("a backward pass" if statement == TRAINING else statement)


def figures(rounds):
    """Time every statement bare, in torch's bare modes and in ours, in turns."""
    return Work(lambda: _measured(rounds), figures=True, warm_ups=0)


def _measured(rounds):
    a, b = torch.ones(4, 4), torch.ones(4, 4)
    names = {"torch": torch, "a": a, "b": b, "c": torch.ones(4, 4, requires_grad=True)}
    with log_placement() as log:
        exec(TRAINING, names)
    found = {}
    for statement in STATEMENTS:
        ops = len(log) if statement == TRAINING else 1
        modes = [nullcontext(), BareFunctionMode(), place("/cpu:0"), BareDispatchMode(), log_placement()]
        bare, function, placed, dispatch, logged = (t / ops for t in _interleaved(statement, names, modes, rounds))
        found[_title("place", statement)] = {"place": placed - bare, _BARE: function - bare}
        found[_title("log_placement", statement)] = {"log_placement": logged - bare, _BARE: dispatch - bare}
    return found


def _interleaved(statement, names, modes, rounds):
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
