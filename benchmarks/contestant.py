"""One contestant's process: it makes ready, warms up, then does its work again and again in each turn it is given.

`python -m benchmarks.contestant MODULE:FUNCTION ARGUMENTS`, in JSON. It answers in JSON, a line each: `{"ready":
versions}` once, then a turn `{"seconds": the best run's, "answers": […]}` or `{"figures": {title: {name: figure}}}`.
The C programs of `limits/` do the same. It runs in any environment: it needs the standard library alone.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any

#: What a figure may depend on -> how its package is called where that differs from the module.
LIBRARIES = {
    **dict.fromkeys(("numpy", "scipy", "torch", "numba", "dask", "distributed", "jax", "jaxlib", "cax", "ray")),
    **{"lifelib": "python-lifelib", "tensorflow": "tensorflow", "nbgrader": "nbgrader", "otter": "otter-grader"},
}


@dataclass(frozen=True)
class Work:
    """What a contestant does: `run()` is timed; `answer(result)`, which is not, gives what is compared.

    `seconds(result)`: for work with a clock of its own. `figures`: the result is what several things measured in one
    run came to, {title: {name: figure}}. `elsewhere`: those `LIBRARIES` that its own processes load.
    """

    run: Callable[[], Any]
    answer: Callable[[Any], Any] | None = None
    seconds: Callable[[Any], float] | None = None
    figures: bool = False
    warm_ups: int = 2
    elsewhere: tuple[str, ...] = ()


def turn(work: Work, seconds: float) -> dict:
    """Do the work as often as it begins within `seconds`, once at least; return what the line about it says.

    The process stays awake from one run to the next, so a run of microseconds is timed as one in a program that goes
    on working. Of answers that are alike one is told.
    """
    ends, best, answers = time.perf_counter() + seconds, float("inf"), []
    while best == float("inf") or time.perf_counter() < ends:
        started = time.perf_counter()
        result = work.run()
        taken = time.perf_counter() - started
        if work.figures:
            return {"figures": result}
        best = min(best, work.seconds(result) if work.seconds else taken)
        answer = work.answer(result) if work.answer else None
        if answer not in answers[-1:]:
            answers.append(answer)
    return {"seconds": best, "answers": answers}


def versions(elsewhere: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the versions of those `LIBRARIES` that this process has loaded, or its own processes `elsewhere`."""
    found = {}
    for module, package in LIBRARIES.items():
        if module in sys.modules or module in elsewhere:
            found[package or module] = getattr(sys.modules.get(module), "__version__", "?")
            for name in (package or module, f"{module}-cpu"):
                with suppress(metadata.PackageNotFoundError):
                    found[package or module] = metadata.version(name)
                    break
    return found


def main(spec: str, arguments: str) -> None:
    """Make ready what `spec` names: a `Work` or several by their names; then take the turns that lines ask for.

    A line has a turn's seconds, and the work's name after a space; at their end the process ends.
    """
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what a library prints is no answer
    module, _, name = spec.partition(":")
    with ExitStack() as stack:
        works = getattr(import_module(module), name)(**json.loads(arguments))
        if hasattr(works, "__enter__"):
            works = stack.enter_context(works)
        works = works if isinstance(works, dict) else {"": works}
        for work in works.values():
            for _ in range(work.warm_ups):
                turn(work, 0)
        elsewhere = tuple(library for work in works.values() for library in work.elsewhere)
        print(json.dumps({"ready": versions(elsewhere)}), file=answers)
        for order in orders:
            seconds, _, way = order.rstrip("\n").partition(" ")
            print(json.dumps(turn(works[way], float(seconds))), file=answers)
    sys.stderr.flush()
    os._exit(0)  # Python's own end takes a second after PyTorch and Dask, and all is closed


if __name__ == "__main__":
    main(*sys.argv[1:])
