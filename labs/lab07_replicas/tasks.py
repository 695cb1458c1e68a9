"""Tasks for lab 07's split product, in threads of the notebook: they note what they are asked, and when.

They behave as those that marks are made with, which are in a process of their own.
"""

import threading

import numpy as np

from .oracles import digest

WAITS = 3.0  # seconds for all tasks to be asked; a thread starts in thousandths of one


class Tasks:
    """So many tasks; each answers once all have been asked.

    `asked`: [task, rows, digest of left, digest of right, whether all were asked in time] for each request.
    """

    def __init__(self, count):
        self.count, self.asked, self.barrier = count, [], threading.Barrier(count)

    def functions(self):
        """Return a function for each task: it multiplies its left side by its right."""
        return [lambda left, right, k=k: self._work(k, left, right) for k in range(self.count)]

    def _work(self, task, left, right):
        left, right = np.array(left, float), np.array(right, float)
        entry = [task, len(left), digest(left), digest(right), True]
        self.asked.append(entry)
        try:
            self.barrier.wait(WAITS)
        except threading.BrokenBarrierError:
            entry[-1] = False
        return left @ right
