"""Lanes: processes that run trials one after another; one that says nothing for too long has hung, and is replaced."""

import collections
import multiprocessing
import os
import signal
import tempfile
import threading
from pathlib import Path

import psutil

from tests.course.training import small_disk
from tests.helpers import namespaces
from tests.slow.faults.outcome import Outcome
from tests.slow.faults.plan import plan

HANG = 90.0  # seconds for one trial; most take two to ten
_GOODBYE = 40.0  # seconds for a lane to end its clusters
READY = 400.0  # seconds for what a trial needs, a cluster say: processes that import torch


def run(seeds, kinds, lanes=2, say=print):
    """Run the plans of `seeds` in so many lanes; return their outcomes, in order of seeds. `say` hears each.

    An exception here, such as an interrupt, ends the trials that run, and cleans up after them.
    """
    plans = sorted((plan(seed, kinds) for seed in seeds), key=lambda trial: (trial.kind.scene, trial.ps))
    waiting, outcomes = collections.deque(trial.seed for trial in plans), []  # a lane then keeps one cluster at a time

    def tell(outcome):
        outcomes.append(outcome)
        say(outcome)

    served = [Served(waiting, kinds, tell) for _ in range(lanes)]
    try:
        for lane in served:
            lane.over.wait()
    except BaseException:
        waiting.clear()
        for lane in served:
            lane.interrupt()
        for lane in served:
            lane.over.wait()
        raise
    return sorted(outcomes, key=lambda outcome: outcome.seed)


class Served(threading.Thread):
    """Gives seeds to a lane, one after another; a lane that hung is replaced. Starts at once; sets `over` at its end.

    (An interrupted `Thread.join` of CPython up to 3.12 takes the thread for ended, and returns at once from then on.)
    """

    def __init__(self, waiting, kinds, tell):
        super().__init__(name="a lane")
        self._waiting, self._kinds, self._tell = waiting, kinds, tell
        self._lane, self._interrupted, self.over = None, False, threading.Event()
        self.start()

    def run(self):
        try:
            self._serve()
        finally:
            self.over.set()

    def _serve(self):
        try:
            while self._waiting:
                try:
                    seed = self._waiting.popleft()
                except IndexError:  # another lane took the last one
                    return
                self._lane = self._lane or Lane()
                outcome = self._lane.run(seed)
                if self._interrupted:
                    return
                self._tell(outcome or self._hung(seed))
        finally:
            if self._lane is not None:
                self._lane.close()

    def _hung(self, seed):
        stacks = self._lane.stacks()
        self._lane.close()
        self._lane = None
        return Outcome(seed, self._kinds[seed % len(self._kinds)].name, "hang", HANG, None, "", [stacks])

    def interrupt(self):
        """End the trial that runs."""
        self._interrupted = True
        if self._lane is not None:
            self._lane.interrupt()


class Lane:
    """One process that runs trials (`lane.serve`): a seed in, an outcome out. Its temporary files go with it."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="course-lane-", ignore_cleanup_errors=True)
        self._output = Path(self._folder.name) / "output"
        self._output.touch()
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, self._folder.name))
        self._process.start()
        theirs.close()
        self._at_work = False

    def run(self, seed):
        """Run one trial, of which the lane says its beginning and its end; None when it hung or the lane ended."""
        self._at_work = True
        try:
            self._pipe.send(seed)
            for seconds in (READY, HANG):
                if not self._pipe.poll(seconds):
                    return None
                outcome = self._pipe.recv()
        except (EOFError, OSError):
            return None
        self._at_work = False
        return outcome

    def interrupt(self):
        """End the trial that runs: the lane cleans up, then ends."""
        self._process.terminate()

    def stacks(self):
        """Return where the lane's threads stand, as far as it can be known."""
        if self._process.is_alive():
            os.kill(self._process.pid, signal.SIGUSR1)  # faulthandler, in the lane
            threading.Event().wait(0.5)
        return self._output.read_text(errors="replace").rpartition("Current thread")[2][:3000]

    def close(self):
        """End the lane: quietly, or with all that it opened when it doesn't answer."""
        family = _family(self._process.pid)
        self._pipe.close()
        if self._at_work:
            self.interrupt()
        self._process.join(_GOODBYE)
        if self._process.is_alive():
            family = _family(self._process.pid)
            self._process.kill()
            self._process.join(10)
        for process in family:
            if process.is_running():
                process.kill()
        namespaces.sweep(self._process.pid)
        small_disk.sweep(self._folder.name)
        self._folder.cleanup()


def _serve(pipe, folder):
    """Be a lane, with `folder` for temporary files and, in its file `output`, for all that anybody prints."""
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    output = os.open(f"{folder}/output", os.O_WRONLY | os.O_APPEND)
    for number in (1, 2):
        os.dup2(output, number)
    from tests.slow.faults.lane import serve  # here, and not in the process that only watches

    serve(pipe)


def _family(pid):
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
