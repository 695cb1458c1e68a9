"""A batch of calls in a process of its own: `python -m tests…fuzz.batch SEED FIRST COUNT CLOSE PROGRESS WHERE`.

It writes the number of each call to the file PROGRESS before the call, so that one that kills the process is known, and
prints a line of JSON for each that failed inside simgpu, and one at the end.
"""

import faulthandler
import json
import mmap
import random
import resource
import signal
import struct
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

import simgpu
from tests.slow.conformance.fuzz.arguments import changed, odd, tensor
from tests.slow.conformance.fuzz.consuming import consume
from tests.slow.conformance.fuzz.functions import SPACES, functions
from tests.slow.conformance.fuzz.harmful import harm_of
from tests.slow.conformance.operators.placing import copied

#: Errors that simgpu's own code never means to raise unless it says `raise`.
FAULTS = (AttributeError, KeyError, AssertionError, NameError, RecursionError, ZeroDivisionError, SystemError)
PACKAGE = str(Path(simgpu.__file__).parent)
ROOM = 2**30  # bytes that calls may take beyond what the process has at its start
LONGEST = 20.0  # seconds of the processor, which a busy machine doesn't change, that one call may compute


class Batch:
    """The calls of one process: what is called, and samples of right arguments for it."""

    def __init__(self, seed: int):
        self.seed = seed
        self.functions = functions()
        self.names = list(self.functions)
        self.ops = _database()
        self.samples: dict[str, list] = {}
        with simulated() as ended:
            self.dead = [torch.ones(3, device="cuda"), torch.ones(2, 2, device="cuda", requires_grad=True)]
        assert ended.closed

    def call(self, number: int) -> str:
        """Make the call of that number, and use its result; return "made", or "left out" if it would harm torch."""
        draw = random.Random(f"{self.seed}:{number}")
        name, function, args, kwargs = self.drawn(draw)
        if harm_of(name, args, kwargs):
            return "left out"
        result = function(*args, **kwargs)
        if draw.random() < 0.5:
            consume(draw, result)
        return "made"

    def on_cpu(self, numbers: Iterable[int]) -> list[tuple]:
        """Return (number, function, arguments, keywords) of these calls, all tensors on the CPU."""
        calls = []
        for number in numbers:
            with suppress(Exception):  # a tensor whose simulation has ended isn't copied
                name, _, args, kwargs = self.drawn(random.Random(f"{self.seed}:{number}"))
                if not harm_of(name, args, kwargs):
                    calls.append((number, self.functions[name], *copied((args, kwargs), "cpu")))
        return calls

    def drawn(self, draw: random.Random) -> tuple:
        """Return (name, function, arguments, keywords) of a call."""
        name = draw.choice(self.names)
        space, _, short = name.partition(".")
        early = draw.random() < 0.1  # as a program has it that imported the function by name before GPUs were simulated
        function, kwargs = self.functions[name] if early else getattr(SPACES[space], short), {}
        samples = self._samples(name)
        if samples and draw.random() < 0.7:
            args, kwargs = draw.choice(samples)
            args, kwargs = [*copied(args, "cuda:0")], copied(kwargs, "cuda:0")
            for _ in range(draw.choice((0, 1, 1, 1, 2))):
                place = draw.randrange(len(args) + len(kwargs)) if args or kwargs else -1
                if 0 <= place < len(args):
                    args[place] = changed(draw, args[place], self.dead)
                elif place >= 0:
                    key = [*kwargs][place - len(args)]
                    kwargs[key] = changed(draw, kwargs[key], self.dead)
        else:
            args = [odd(draw, self.dead) for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 4)))]
        if name.startswith("Tensor.") and not (args and isinstance(args[0], Tensor)):
            args = [tensor(draw, self.dead), *args[1:]]
        if draw.random() < 0.08:
            kwargs[draw.choice(("out", "dim", "dtype", "device", "generator", "input"))] = odd(draw, self.dead)
        return name, function, args, kwargs

    def _samples(self, name):
        short = name.partition(".")[2]
        if short not in self.samples:
            self.samples[short] = [*islice(self._made(short.rstrip("_") or short), 6)]
        return self.samples[short]

    def _made(self, name):
        for op in self.ops.get(name, ()):
            if not op.dtypes:
                continue
            torch.manual_seed(0)
            numpy.random.seed(0)
            random.seed(0)
            dtype = torch.float32 if torch.float32 in op.dtypes else sorted(op.dtypes, key=str)[0]
            try:
                for sample in islice(op.sample_inputs_func(op, "cuda:0", dtype, False), 3):
                    yield (sample.input, *sample.args), sample.kwargs
            except NotImplementedError:  # sparse ones
                continue


def simulated() -> Any:
    """Return two simulated GPUs of 1 GB."""
    return simgpu.simulated_gpus(2)


def _database():
    from torch.testing._internal.common_methods_invocations import op_db

    ops: dict[str, list] = {}
    for op in op_db:
        for name in {op.name, op.name.rpartition(".")[2], *(alias.name for alias in op.aliases)}:
            ops.setdefault(name, []).append(op)
    return ops


def main(seed: int, first: int, count: int, close: int, progress: str, where: str) -> None:
    """Make the calls `first` to `first + count`, from `close` on after the end of the simulation.

    `where` is "simulated", or "cpu": all tensors there, and no GPU is simulated.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    say_where_it_hangs()
    batch, numbers = Batch(seed), range(first, first + count)
    with open(progress, "r+b") as file, mmap.mmap(file.fileno(), 8) as place, simulated() as gpus:
        for name in batch.names:
            batch._samples(name)
        _bound_memory()
        if where == "cpu":
            _make_alone(batch.on_cpu(numbers), gpus, place)
        else:
            print(json.dumps({"done": _make(batch, numbers, close, gpus, place)}), flush=True)


def _make(batch, numbers, close, gpus, place):
    """Make these calls and return how many had which end."""
    counts: Counter = Counter()
    with ThreadPoolExecutor(1) as thread:
        for number in numbers:
            if number == close:
                gpus.close()
            begin(number, place)
            threaded = random.Random(f"thread {batch.seed}:{number}").random() < 0.05
            counts[thread.submit(_tried, batch, number).result() if threaded else _tried(batch, number)] += 1
            if gpus.context.fault is not None:  # a device-side assert: all later calls would raise its error
                gpus.context.renew()
            if number % 64 == 0:
                _healthy(gpus)
    return counts


def _make_alone(calls, gpus, place):
    gpus.close()
    for number, function, args, kwargs in calls:
        begin(number, place)
        with suppress(Exception):
            function(*args, **kwargs)


def say_where_it_hangs() -> None:
    """Have the process print where it is when its time for a call is over, before that ends it."""
    faulthandler.register(signal.SIGPROF, chain=True)


def begin(number: int, place: Any) -> None:
    """Write the number of a call to `place`, 8 bytes; one that computes for longer than `LONGEST` ends the process."""
    place[:] = struct.pack("q", number)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)


def _tried(batch, number):
    try:
        return batch.call(number)
    except Exception as error:
        fault = fault_of(error)
        if fault:
            print(json.dumps({"number": number, "fault": fault, "call": described(batch, number)}), flush=True)
            return "faults"
        return "refused"


def fault_of(error: BaseException) -> str:
    """Return the last lines of an error that simgpu's own code did not mean, "" for any other."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not last.filename.startswith(PACKAGE) or (last.line or "").startswith("raise") or not isinstance(error, FAULTS):
        return ""
    return "".join(traceback.format_exception(error)[-4:])[-1500:]


def described(batch: Batch, number: int) -> str:
    """Return the call of that number in words."""
    name, _, args, kwargs = batch.drawn(random.Random(f"{batch.seed}:{number}"))
    parts = [*map(_word, args), *(f"{key}={_word(value)}" for key, value in kwargs.items())]
    return f"{name}({', '.join(parts)})"


def _word(value):
    if isinstance(value, Tensor):
        needs = ", needs gradient" if value.requires_grad else ""
        return f"<{tuple(value.shape)} {value.dtype} {value.device} {value.layout}{needs}>"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{', '.join(map(_word, value))}]"
    return repr(value)


def _healthy(gpus):
    """Raise unless torch computes as before, with no mode left behind."""
    if torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack() or not torch.is_grad_enabled():
        raise SystemExit("a mode was left behind")
    if (torch.ones(3) + 1).tolist() != [2, 2, 2]:
        raise SystemExit("the CPU doesn't add")
    if not gpus.closed and (torch.ones(3, device="cuda") + 1).tolist() != [2, 2, 2]:
        raise SystemExit("cuda doesn't add")


def _bound_memory():
    taken = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (taken + ROOM, taken + ROOM))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]), *sys.argv[5:])
