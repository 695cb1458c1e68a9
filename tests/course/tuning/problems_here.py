"""Problems for trials of tuning that wait, die or raise on their worker; a worker that reads them imports little."""

import os
import signal
import time
from pathlib import Path

from course.training import linear_regression

LINE = linear_regression()


class Wrapped:
    """A line whose workers do something of their own when they take a batch."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def initial(self):
        return LINE.initial()

    def loss(self, parameters, batch):
        return LINE.loss(parameters, batch)

    def batch(self, worker, version, generator):
        self.before(version)
        return LINE.batch(worker, version, generator)


class Gated(Wrapped):
    """At its 11th update each trial waits until there is a file `open`, and leaves a file `waits PID`."""

    def before(self, version):
        deadline = time.monotonic() + 120
        while version == 10 and not (self.folder / "open").exists():
            (self.folder / f"waits {os.getpid()}").touch()
            assert time.monotonic() < deadline
            time.sleep(0.005)


class Counted(Wrapped):
    """Notes the process that reads it."""

    def __setstate__(self, state):
        self.__dict__.update(state)
        with (self.folder / f"read by {os.getpid()}").open("a") as file:
            file.write(".")

    def before(self, version):
        pass


class Deadly(Wrapped):
    """Ends its process, until there is a file `spared`."""

    def before(self, version):
        if version == 5 and not (self.folder / "spared").exists():
            os.kill(os.getpid(), signal.SIGKILL)


class Unreadable(Wrapped):
    """Ends the process that reads it, other than the driver's, until there is a file `spared`."""

    def __init__(self, folder):
        super().__init__(folder)
        self.driver = os.getpid()

    def __setstate__(self, state):
        self.__dict__.update(state)
        if os.getpid() != self.driver and not (self.folder / "spared").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, version):
        pass


class Spoilt(Wrapped):
    """Raises at its fourth update; of a trial with several workers, that of one of them."""

    def __init__(self, folder, worker=0):
        super().__init__(folder)
        self.worker = worker

    def batch(self, worker, version, generator):
        if version >= 3 and worker == self.worker:
            raise ZeroDivisionError("spoilt")
        return super().batch(worker, version, generator)

    def before(self, version):
        pass
