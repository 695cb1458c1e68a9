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

START, SILENCE = 600.0, 60.0  # seconds to the first call, and without a new one, after which a batch is taken to hang


@dataclass
class Ended:
    """How a process of a batch came to its end: at which call, `how` in words ("" if well), and what it printed."""

    at: int
    how: str
    lines: list[dict] = field(default_factory=list)


@dataclass
class Found:
    """What came of all calls: how many were `made`, `refused`; `bad`, in words; `torchs`: it fails so by itself."""

    counts: Counter = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)
    torchs: list[str] = field(default_factory=list)


def fuzz(seed: int, first: int, count: int, batch: int, say: Callable[[str], None]) -> Found:
    """Make `count` calls from number `first` on in batches; `say` is told of each batch and each find."""
    found, end = Found(), first + count
    while first < end:
        ended = run(seed, first, min(batch, end - first))
        for line in ended.lines:
            found.counts.update(line.get("done", {}))
            if "fault" in line:
                found.bad.append(f"call {line['number']}: {line['call']}\n{line['fault']}")
                say(found.bad[-1])
        if ended.how:
            words = f"call {ended.at}: {ended.how}; {_shortest(seed, first, ended.at)}"
            kind = found.torchs if run(seed, ended.at, 1, "cpu").how else found.bad
            kind.append(words)
            say(("torch itself: " if kind is found.torchs else "") + words)
            found.counts["before a bad end"] += ended.at - first
            first = ended.at + 1
        else:
            first += batch
        say(f"to call {first}: {dict(found.counts)}")
    return found


def run(seed: int, first: int, count: int, where: str = "simulated") -> Ended:
    """Run a batch in a process, and end that when it is silent for too long."""
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder) / "progress"
        progress.write_bytes(struct.pack("q", -1))
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.slow.conformance.fuzz.batch"]
        with open(Path(folder) / "said", "w+") as said, open(Path(folder) / "errors", "w+") as errors:
            process = subprocess.Popen(
                [*command, str(seed), str(first), str(count), str(progress), where],
                stdout=said, stderr=errors, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            hung = _watched(process, progress)
            said.seek(0)
            errors.seek(0)
            lines = [json.loads(line) for line in said if line.startswith('{"')]
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
            now = progress.read_bytes()
            if now != before:
                before, since = now, time.monotonic()
            if time.monotonic() - since > (SILENCE if before and struct.unpack("q", before)[0] >= 0 else START):
                process.kill()
                process.wait()
                return True


def _shortest(seed, first, at):
    """Return in words how few calls before it the call `at` needs to end badly again."""
    length = 1
    while True:
        start = max(first, at + 1 - length)
        if run(seed, start, at + 1 - start).how:
            return f"again with --first {start} --count {at + 1 - start}"
        if start == first:
            return "not again in a second run"
        length *= 8
