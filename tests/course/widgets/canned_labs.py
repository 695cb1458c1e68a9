"""The two labs of chapter 06 without their processes: one trains in this process, one shows what was once seen."""

from functools import partial

import torch

from course.training import train_in_turns
from course.training.driver.rehearsal import RehearsalRecord
from course.training.records import Event
from course.widgets import FailureLab, RegressionLab

B, C, PS = "/job:worker/task:1", "/job:worker/task:2", "/job:ps/task:0"
HITS = [
    Event(0.0, "checkpoint saved", "", 0),
    Event(2.0, "killed", B, 60),
    Event(2.1, "worker lost", B, 62),
    Event(3.0, "worker joined", B, 80),
    Event(4.0, "checkpoint saved", "", 75),
    Event(5.0, "killed", PS, 130),
    Event(5.2, "ps lost", PS, 130),
    Event(6.5, "restored", "", 75),
]


class InTurns(RegressionLab):
    """A lab without processes, whose updates come a thousand a second."""

    def engine(self, workers, mode, learning_rate, steps, slow):
        """Train in this process, the workers in turns."""
        optimizer = partial(torch.optim.SGD, lr=learning_rate)
        result = train_in_turns(self.problem, optimizer=optimizer, mode=mode, workers=workers, total_steps=steps)
        result.history["applied"] = 0.001 * result.history["step"]  # the same in every run
        return result


class Canned(FailureLab):
    """A lab without processes."""

    def engine(self, workers, mode, seconds, plan):
        """Return what was once seen."""
        return record()


def record(until=9.0, ended="9 seconds are over"):
    """Return what is known, at a second, of a training in which worker 1 and the parameter server were killed."""
    rows, step = [], 0
    for turn in range(int(until / 0.05)):
        at, worker = 0.05 * turn, turn % 3
        if 5.0 < at < 6.7 or (worker == 1 and 2.0 < at < 3.1):
            continue
        step = 76 if at > 6.7 and rows[-1][5] < 5.1 else step + 1
        rows.append((step, worker, max(0, step - 3), 90 / step, at, at))
    return RehearsalRecord(rows, [event for event in HITS if event.seconds <= until], ended)
