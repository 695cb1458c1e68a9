"""A process's context on its simulated GPUs: lost once a device-side assert has failed, and busy while it captures."""

import linecache
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch

from simgpu.messages import device_assert, unnoticed_assert
from simgpu.state import Simulation

_log = logging.getLogger(__name__)
_CODE = 710  # cudaErrorAssert
_FOLDERS = tuple(f"{folder}{os.sep}" for folder in (Path(torch.__file__).parent, Path(__file__).parents[1]))


class Fault(NamedTuple):
    """A device-side assert that failed: `words` for it, at `moment` of the clock (seconds), reset `resets` times."""

    words: str
    moment: float
    resets: int


class Context:
    """The context of the simulation `owner`: `lost` after a device-side assert; `capture` is the graph being captured.

    It keeps the owner's `as_usual`, which every op looks at. A failed assert is raised when the host has waited for it,
    as on CUDA; then each call raises the same error.
    """

    def __init__(self, owner: Simulation):
        self._owner = owner
        self.fault: Fault | None = None
        self.lost = False
        self.capture: Any = None  # a `cuda.graph_capture.Tape`
        owner.clock.on_wait = self.waited

    def captured(self, index: int) -> Any:
        """Return the capture in which this thread's work for device `index` goes, or None: it is done at once."""
        capture = self.capture
        return capture if capture is not None and capture.holds(self._owner.clock.current_stream(index)) else None

    def is_capturing(self, stream: Any) -> bool:
        """Return whether a CUDA graph is captured from `stream`, one of the clock's."""
        return self.capture is not None and stream in self.capture.streams

    def capturing(self, capture: Any) -> None:
        """Note the graph being captured from now on, None at its end."""
        self.capture = capture
        self._set()

    def failed(self, index: int, words: str, place: str) -> None:
        """Note that an assert has failed in the work last given to device `index`: `words` of it, made at `place`.

        With CUDA_LAUNCH_BLOCKING=1 raises the error at once.
        """
        clock = self._owner.clock
        if self.fault is None:
            self.fault = Fault(f"{words}\n{place}", clock.current_stream(index).ready, clock.resets)
            self._set()
            _log.warning("a device-side assert failed on cuda:%d, its context is lost: %s at %s", index, words, place)
        if os.environ.get("CUDA_LAUNCH_BLOCKING") == "1":
            clock.synchronize(index)

    def waited(self) -> None:
        """Raise, after the host has waited, the error of a wait in a capture or of a failed assert."""
        if self.capture is not None:
            self.capture.refuse_wait()
        fault, clock = self.fault, self._owner.clock
        if fault is not None and (clock.resets != fault.resets or clock.host >= fault.moment):
            self.lost = True
            self.check()

    def check(self) -> None:
        """Raise the error of the assert that lost this context, if one did."""
        if self.lost and self.fault is not None:
            error: Any = torch.AcceleratorError(device_assert(self.fault.words))
            error.error_code = _CODE
            raise error

    def renew(self) -> None:
        """Begin anew: no assert has failed, and no graph is being captured."""
        self.fault, self.lost, self.capture = None, False, None
        self._set()

    def end(self) -> None:
        """Warn of an assert that failed and that nothing has waited for: no call has raised it."""
        if self.fault is not None and not self.lost:
            warnings.warn(unnoticed_assert(self.fault.words), RuntimeWarning, stacklevel=3)
        self.capture = None

    def _set(self):
        self._owner.as_usual = not self._owner.closed and self.fault is None and self.capture is None


def program_line() -> str:
    """Return the line of the program, outside of torch and simgpu, that runs now: its file, number and text."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDERS):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line, frame.f_globals).strip()
    return f"{file}:{line}: {text}" if text else f"{file}:{line}"
