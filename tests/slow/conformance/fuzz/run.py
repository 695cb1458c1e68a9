"""Batches of calls run one after the other, each in its process; one that ends badly is brought back to its call."""

import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SILENCE = 600.0  # seconds without a new call after which a process waits for what never comes: far more than any needs
AFTER = 10  # the last tenth of a batch is called after the end of the simulation
#: glibc looks at a block's borders whenever it is freed, and ends the process at the first that was written over; what
#: memory holds before it is written, and the order of a set, are the same in every run.
GUARDS = {
    "LD_PRELOAD": "libc_malloc_debug.so.0", "GLIBC_TUNABLES": "glibc.malloc.check=3", "MALLOC_CHECK_": "3",
    "MALLOC_PERTURB_": "165", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1",
}  # fmt: skip


@dataclass
class Ended:
    """How a process of a batch came to its end: at which call, `how` in words ("" if well), and what it printed."""

    at: int
    how: str
    lines: list[dict] = field(default_factory=list)


@dataclass
class Found:
    """What came of all calls: how many had which end; `bad`, in words; `torchs`: it fails so by itself."""

    counts: Counter = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)
    torchs: list[str] = field(default_factory=list)


def fuzz(seed: int, first: int, count: int, batch: int, say: Callable[[str], None]) -> Found:
    """Make `count` calls from number `first` on in batches; `say` is told of each batch and each find."""
    finds, end = Found(), first + count
    while first < end:
        size = min(batch, end - first)
        close = first + size - size // AFTER
        ended = run(seed, first, size, close)
        for line in ended.lines:
            finds.counts.update(line.get("done", {}))
            if "fault" in line:
                finds.bad.append(f"call {line['number']}: {line['call']}\n{line['fault']}")
                say(finds.bad[-1])
        if ended.how:
            _explain(finds, seed, first, close, ended, say)
            finds.counts["before a bad end"] += ended.at - first
            first = ended.at + 1
        else:
            first += size
        say(f"to call {first}: {dict(finds.counts)}")
    return finds


def _explain(finds, seed, first, close, ended, say):
    """Bring a bad end back to as few calls as show it again, and make these on the CPU alone."""
    start, words = _shortest(seed, first, ended.at, close)
    words = f"call {ended.at}{' after the end' if ended.at >= close else ''}: {ended.how}; {words}"
    kind = finds.torchs if run(seed, start, ended.at + 1 - start, close, "cpu").how else finds.bad
    kind.append(words)
    say(("torch itself: " if kind is finds.torchs else "") + words)


def run(seed: int, first: int, count: int, close: int, where: str = "simulated") -> Ended:
    """Run a batch in a process, whose simulation ends before call `close`; end it when it is silent for too long."""
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder) / "progress"
        progress.write_bytes(struct.pack("q", -1))
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.slow.conformance.fuzz.batch"]
        with open(Path(folder) / "said", "w+") as printed, open(Path(folder) / "errors", "w+") as errors:
            process = subprocess.Popen(
                [*command, *map(str, (seed, first, count, close, progress, where))],
                stdout=printed, stderr=errors, env={**os.environ, **GUARDS},
            )  # fmt: skip
            hung = _watched(process, progress)
            printed.seek(0)
            errors.seek(0)
            lines = [json.loads(line) for line in printed if line.startswith('{"')]
            last = errors.read().partition("Extension modules:")[0][-1500:]
        at = struct.unpack("q", progress.read_bytes())[0]
    how = f"silent for {SILENCE:.0f} s" if hung else f"exit {process.returncode}: {last}" if process.returncode else ""
    return Ended(max(at, first), how, lines)


def _watched(process, progress):
    """Wait for the end of a process; end it and return True when its progress stands still."""
    before, since = b"", time.monotonic()
    while True:
        try:
            process.wait(timeout=1.0)
            return False
        except subprocess.TimeoutExpired:
            current = progress.read_bytes()
            if current != before:
                before, since = current, time.monotonic()
            if time.monotonic() - since > SILENCE:
                process.kill()
                process.wait()
                return True


def _shortest(seed, first, at, close):
    """Return from which call on it takes to end badly at call `at` again, and that in words."""
    length = 1
    while True:
        start = max(first, at + 1 - length)
        if run(seed, start, at + 1 - start, close).how:
            return start, f"again with --first {start} --count {at + 1 - start}"
        if start == first:
            return start, "not again in a second run"
        length *= 8
