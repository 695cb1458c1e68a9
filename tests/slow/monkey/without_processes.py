"""The exhibits that train, without processes: workers take turns in a thread of this process."""

import time
from functools import partial

import torch

from course.training import train_in_turns
from course.training.driver.rehearsal import RehearsalRecord
from course.widgets import FailureLab, RegressionLab


class Regression(RegressionLab):
    """A lab whose workers take turns here."""

    def engine(self, workers, mode, learning_rate, steps, slow):
        """Train in this thread."""
        optimizer = partial(torch.optim.SGD, lr=learning_rate)
        return train_in_turns(
            self.problem, optimizer=optimizer, mode=mode, workers=workers, total_steps=min(steps, 300)
        )


class Failures(FailureLab):
    """A lab that takes a second, and whose tasks can't be hit."""

    def engine(self, workers, mode, seconds, plan):
        """Return the record of a short training."""
        for part in range(10):
            self.progress(part / 10)
            time.sleep(0.02)
            if self.stopped.is_set():
                return None
        optimizer = partial(torch.optim.SGD, lr=0.001)
        history = train_in_turns(self.problem, optimizer=optimizer, mode=mode, workers=workers, total_steps=200).history
        return RehearsalRecord(rows=[tuple(row) for row in history.tolist()], ended="the time is over")
