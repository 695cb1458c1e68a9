"""Where the session asks for parameters and snapshots while shards come and go: at those that are there now."""

from contextlib import contextmanager

from course.training.driver.signals import unbroken


class View:
    """Shows the shards of the present `Talk`; before there are any, and when they are gone, what was known last.

    `parameters`: name to tensor, the first ones. `start`: the `Snapshot` that training goes on from, or None.
    `lineage`: the `Lineage` of the training.
    """

    def __init__(self, parameters, start, lineage):
        self._talk, self._snapshot, self._lineage = None, start, lineage
        self._last = start.parameters if start else parameters

    @contextmanager
    def of(self, talk):
        """Within the `with`, show the shards of this `Talk`."""
        self._talk = talk
        try:
            yield
        finally:
            self._talk = None

    def parameters(self):
        """Return copies of the present parameters: name to tensor. Raises ShardLost."""
        if self._talk is not None:
            with unbroken():
                self._last = self._talk.parameters()
        return {name: value.detach().clone() for name, value in self._last.items()}

    def snapshot(self):
        """Return the `Snapshot` of this moment, None when there never was one. Raises ShardLost."""
        if self._talk is not None:
            with unbroken():
                self._snapshot = self._talk.snapshot()
            self._lineage.read(self._talk)  # the records of all that is in the snapshot, while they can be had
            self._last = self._snapshot.parameters
        return self._snapshot
