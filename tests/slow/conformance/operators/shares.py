"""All ops walked in several processes; one that dies or is silent is begun again after the op that it was at."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from tests.slow.conformance.operators.walk import Verdict

DEADLINE = 900.0  # seconds that one op may take, in all its ways


@dataclass(frozen=True)
class Walk:
    """What is walked: `ways` and `dtypes` by name, on `device`, with at most `most` samples of each op, way and dtype.

    Dtypes other than float32 get a third of that, one at least.
    """

    ways: tuple[str, ...]
    dtypes: tuple[str, ...]
    most: int
    device: str = "cuda:0"


def walked(walk: Walk, parts: int) -> Iterator[Verdict]:
    """Yield the verdicts of all ops, from `parts` processes; a process that died at an op is a verdict, too."""
    verdicts: queue.Queue = queue.Queue()
    threads = [threading.Thread(target=_share, args=(walk, part, parts, verdicts)) for part in range(parts)]
    for thread in threads:
        thread.start()
    for _ in threads:
        yield from iter(verdicts.get, None)


def _share(walk, part, parts, verdicts):
    first = 0
    while first is not None:
        first = _process(walk, part, parts, first, verdicts)
    verdicts.put(None)


def _process(walk, part, parts, first, verdicts):
    """Walk a part from its op number `first` on; return None at its end, or the number of the op to begin with anew."""
    request = json.dumps({**asdict(walk), "part": part, "parts": parts, "first": first})
    command = [sys.executable, "-m", "tests.slow.conformance.operators.share", request]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    at, name = first, "none"
    for line in _lines(process):
        if "at" in line:
            at, name = line["at"], line["name"]
        elif "done" in line:
            process.communicate()
            return None
        else:
            verdicts.put(Verdict(**line))
    error = process.communicate()[1].strip()[-300:]
    verdicts.put(Verdict(name, "all", "all", "differs", f"the process ended with {process.returncode}: {error}"))
    return at + 1


def _lines(process) -> Iterable[dict]:
    """Yield what a process prints; one that is silent past the deadline is ended."""
    lines = iter(process.stdout)
    while True:
        watch = threading.Timer(DEADLINE, process.kill)
        watch.start()
        line = next(lines, None)
        watch.cancel()
        if line is None:
            return
        if line.startswith("{"):
            yield json.loads(line)
