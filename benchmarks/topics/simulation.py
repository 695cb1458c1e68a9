"""What simulated GPUs add to an op, beside what torch's bare mode adds, and what to a program on the CPU: nothing.

Also the seconds of `import simgpu`, and the objects and bytes that 3,000 training steps leave behind.
"""

import gc
import subprocess
import sys
from time import perf_counter
from timeit import timeit

import torch
from torch.utils import benchmark

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from benchmarks.topics.placement import BareDispatchMode
from course import simulated_gpus

STATEMENTS = ("a + b", "a @ b", "a.relu()", "a.sum(dim=0)", "a.add_(b)", "torch.cat([a, b])")
VIEWS = ("a.view(-1)", "a.t()", "a[0]")
AT_HOME = ("a + b", "a @ b", "a.view(-1)", "a.to(torch.float64)", "torch.zeros(4)", "a.shape")
STEPS = 3000
_OURS, _BARE, _WITHOUT = "simulated_gpus", "a bare mode", "without simgpu"
_IMPORT, _OBJECTS, _BYTES = (
    "import simgpu",
    f"objects kept by {STEPS} training steps",
    f"bytes kept by {STEPS} training steps",
)


def contests(quick, places):
    """Yield what each statement costs more on a simulated GPU than on the CPU, and what on the CPU meanwhile."""
    ours = Contestant(_OURS, kind=OURS)
    named = [
        Contest(_title(one), "µs an op", (ours, Contestant(_BARE)), "less", targets=(Target(_OURS, _BARE, most=most),))
        for statements, most in ((STATEMENTS, 3.5), (VIEWS, 2.5))
        for one in statements
    ]
    named += [
        Contest(_home(one), "µs", (ours, Contestant(_WITHOUT)), "less", targets=(Target(_OURS, _WITHOUT, most=1.1),))
        for one in AT_HOME
    ]
    for title, unit, most in ((_IMPORT, "ms above a bare start", 20), (_OBJECTS, "objects", 300), (_BYTES, "bytes", 0)):
        named.append(Contest(title, unit, (ours,), "less", targets=(Target(_OURS, most=most),)))
    work = Contestant("simulation", f"{__name__}:figures", {"rounds": 60 if quick else 150}, OURS)
    yield Together((work,), tuple(named), rounds=2 if quick else 5)


def _title(statement):
    return f"simulation adds to {statement}"


def _home(statement):
    return f"{statement} on the CPU"


def figures(rounds):
    """Time every statement bare, in a bare mode and simulated."""
    return Work(lambda: _measured(rounds), figures=True, warm_ups=0)


def _measured(rounds):
    plain = {"a": torch.ones(4, 4), "b": torch.ones(4, 4), "torch": torch}
    found = {}
    for statement in (*STATEMENTS, *VIEWS):
        bare, dispatched, simulated = _best(statement, plain, rounds)
        found[_title(statement)] = {_OURS: simulated - bare, _BARE: dispatched - bare}
    for statement in AT_HOME:
        found[_home(statement)] = dict(zip((_OURS, _WITHOUT), _at_home(statement, plain, rounds), strict=True))
    objects, kept = _trained()
    return {**found, _IMPORT: {_OURS: _import()}, _OBJECTS: {_OURS: objects}, _BYTES: {_OURS: kept}}


def _at_home(statement, plain, rounds):
    """Return the microseconds of `statement` on the CPU with simulated GPUs and without: the best, in turn."""
    best = [float("inf")] * 2
    for _ in range(max(2, rounds // 15)):
        with simulated_gpus(1):
            best[0] = min(best[0], *(_without_waiting(statement, plain) for _ in range(15)))
        best[1] = min(best[1], *(_without_waiting(statement, plain) for _ in range(15)))
    return best


def _without_waiting(statement, names):
    """Return microseconds by Python's stopwatch: torch's waits for the GPUs, which costs what is to be measured."""
    return timeit(statement, globals=names, number=300) / 300 * 1e6


def _import():
    """Return the milliseconds by which a start that imports simgpu takes longer than a bare one: of the best of 9."""
    best = {program: float("inf") for program in ("pass", "import simgpu")}
    for _ in range(9):
        for program in best:
            start = perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            best[program] = min(best[program], perf_counter() - start)
    bare, simulated = best.values()
    return max(simulated - bare, 0.0) * 1e3


def _trained():
    """Return by how many objects and bytes of the device the second half of a training grew."""
    with simulated_gpus(1):
        layer, x = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
        optimiser = torch.optim.Adam(layer.parameters())
        found = []
        for step in range(STEPS):
            optimiser.zero_grad()
            layer(x).square().mean().backward()
            optimiser.step()
            if step in (STEPS // 2 - 1, STEPS - 1):
                gc.collect()
                found.append((len(gc.get_objects()), torch.cuda.memory_allocated()))
    return [max(later - before, 0) for before, later in zip(*found, strict=True)]


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
