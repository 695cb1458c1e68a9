"""One contestant's process: it makes ready, warms up, then does its work once for each line it is sent.

`python -m benchmarks.contestant MODULE:FUNCTION ARGUMENTS`, in JSON. It answers in JSON, a line each: `{"ready":
versions}` once, then a run `{"seconds": …, "answer": …}` or `{"figures": {title: {name: figure}}}`. The C programs of
`limits/` do the same. It runs in any environment: it needs the standard library alone.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
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

    `seconds(result)`: for work with a clock of its own. `figures(result)`: for a contestant that measures several
    things in one process, {title: {name: figure}}.
    """

    run: Callable[[], Any]
    answer: Callable[[Any], Any] | None = None
    seconds: Callable[[Any], float] | None = None
    figures: Callable[[Any], dict] | None = None
    warm_ups: int = 2


def once(work: Work) -> dict:
    """Do the work once; return what the line about it says."""
    started = time.perf_counter()
    result = work.run()
    seconds = time.perf_counter() - started
    if work.figures is not None:
        return {"figures": work.figures(result)}
    if work.seconds is not None:
        seconds = work.seconds(result)
    return {"seconds": seconds, "answer": work.answer(result) if work.answer else None}


def versions() -> dict[str, str]:
    """Return the versions of those `LIBRARIES` that this process has loaded."""
    found = {}
    for module, package in LIBRARIES.items():
        if module in sys.modules:
            try:
                found[package or module] = metadata.version(package or module)
            except metadata.PackageNotFoundError:
                found[package or module] = getattr(sys.modules[module], "__version__", "?")
    return found


def main(spec: str, arguments: str) -> None:
    """Make ready what `spec` names, then answer line by line until the other side closes."""
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what a library prints is no answer
    module, _, name = spec.partition(":")
    with ExitStack() as stack:
        work = getattr(import_module(module), name)(**json.loads(arguments))
        if hasattr(work, "__enter__"):
            work = stack.enter_context(work)
        for _ in range(work.warm_ups):
            once(work)
        print(json.dumps({"ready": versions()}), file=answers)
        for _ in orders:
            print(json.dumps(once(work)), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
