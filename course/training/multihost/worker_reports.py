"""What a role says and writes of its own, a worker of its gradients, beside what the chief does for all."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from course.training.hooks.progress import parameters_in_words
from course.training.hooks.tensorboard import EventFile, load

if TYPE_CHECKING:
    import torch

#: Versions between two rows of a worker's own summaries.
_SUMMARY_EVERY = 100


class OwnParameters:
    """Says the parameters that this worker got, and its loss on them, every `every` versions, to `say`."""

    def __init__(self, say: Callable[[str], object], every: int):
        self._say, self._every, self._last = say, every, 0

    def gradient(self, version: int, parameters: dict[str, "torch.Tensor"], loss: float) -> None:
        """Say a line when another multiple has been reached: `parameters`, name to tensor, are those of `version`."""
        before, self._last = self._last, version // self._every
        if self._last > before:
            self._say(parameters_in_words(version, parameters, loss))

    def close(self) -> None:
        """Do nothing: nothing is open."""


class OwnSummaries:
    """Writes this worker's mean loss and its gradients a second, every 100 versions, into an event file in `folder`.

    Where it can't be written, a warning says that there are none.
    """

    def __init__(self, folder: str | os.PathLike):
        load()  # before training begins: in the first gradient the others would go on alone meanwhile
        self._file, self._version = EventFile(folder), -1

    def gradient(self, version: int, parameters: dict[str, "torch.Tensor"], loss: float) -> None:
        """Collect, and write when it is time to; a version that is lower than the last one begins a file anew."""
        if self._version < 0 or version < self._version:
            self._file.open(purge_step=version + 1)
            self._begin()
        self._losses.append(loss)
        if version // _SUMMARY_EVERY > self._version // _SUMMARY_EVERY and self._version >= 0:
            self._file.add("scalar", "loss", sum(self._losses) / len(self._losses), version)
            rate = len(self._losses) / (time.monotonic() - self._since)
            self._file.add("scalar", "gradients_per_second", rate, version)
            self._begin()
        self._version = version

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()

    def _begin(self):
        self._losses, self._since = [], time.monotonic()


class OwnLines:
    """Says each line to `say`, and writes it as a text into an event file in `folder`: what a ps has to tell."""

    def __init__(self, say: Callable[..., object], folder: str | os.PathLike):
        self._say, self._file, self._count = say, EventFile(folder), 0
        self._file.open(purge_step=0)

    def __call__(self, line: str, **settings: Any) -> None:
        """Say it, with the `settings` that `print` takes, and write it."""
        self._say(line, **settings)
        self._count += 1
        self._file.add("text", "lines", line, self._count)

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()
