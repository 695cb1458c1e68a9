"""Lanes: processes that run trials one after another; one that says nothing for too long has hung, and is replaced."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import asdict

import psutil

from tests.faults.outcome import Outcome

HANG = 240.0  # seconds for one trial; most take two; those that start processes of their own wait for them
READY = 400.0  # seconds for what a trial needs, a cluster say: processes that import torch


def run(seeds, kinds, lanes=2, say=print):
    """Run the plans of `seeds` in so many lanes; return their outcomes, in order of seeds. `say` hears each."""
    waiting, outcomes = queue.SimpleQueue(), []
    for seed in seeds:
        waiting.put(seed)
    threads = [
        threading.Thread(target=_lane, args=(waiting, kinds, lambda one: (outcomes.append(one), say(one))))
        for _ in range(lanes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(outcomes, key=lambda one: one.seed)


def _lane(waiting, kinds, tell):
    lane = None
    try:
        while True:
            try:
                seed = waiting.get_nowait()
            except queue.Empty:
                return
            lane = lane or Lane()
            outcome = lane.run(seed)
            if outcome is None:
                said = lane.stacks()
                lane.close()
                lane = None
                kind = kinds[seed % len(kinds)].name
                outcome = Outcome(seed, kind, "hang", HANG, None, "", [said])
            tell(outcome)
    finally:
        if lane is not None:
            lane.close()


class Lane:
    """One process that runs trials: a seed in, an outcome out."""

    def __init__(self):
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults.lane"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._lines, self._errors = queue.SimpleQueue(), []
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stdout, self._lines.put), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stderr, self._errors.append), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream, put):
        for line in stream:
            put(line)
        put("")

    def run(self, seed):
        """Run one trial, of which the lane says its beginning and its end; None when it hung or the lane ended."""
        self._errors.clear()
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=READY) and self._lines.get(timeout=HANG)
        except queue.Empty:
            return None
        return Outcome(**json.loads(line)) if line else None

    def stacks(self):
        """Return where the lane's threads stand, as far as it can be known."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)  # faulthandler, in the lane
            threading.Event().wait(0.5)
        return "".join(self._errors).rpartition("Current thread")[2][:3000]

    def close(self):
        """End the lane: quietly, or with all its processes when it doesn't answer."""
        family = _family(self._process.pid)
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        for process in family:
            if process.is_running():
                process.kill()
        for reader in self._readers:
            reader.join(5)
        self._process.stdout.close()
        self._process.stderr.close()


def _family(pid):
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def as_line(outcome):
    """Return an outcome as the line that a lane says."""
    return json.dumps(asdict(outcome))


def own_words():
    """Keep the real standard output for outcomes; what anybody prints goes to standard error. Return a writer."""
    words = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return words
