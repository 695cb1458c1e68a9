"""A bar while marks are made: one line that is written over on a terminal, a line every tenth elsewhere.

click's own bar tells nothing where there is no terminal, and the log of a long grading is read while it is made.
"""

import sys
import time
from collections.abc import Callable
from typing import TextIO

WIDTH = 30


class Progress:
    """Called as `progress(done, of)`; writes to stderr, so that stdout is the report."""

    def __init__(self, what: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.what, self.stream, self.clock = what, sys.stderr if stream is None else stream, clock
        self.started, self.told, self.open = clock(), -1, False

    def __call__(self, done: int, of: int) -> None:
        """Show that `done` are done, of so many."""
        if of == 0:
            return
        if self.stream.isatty():
            filled = WIDTH * done // of
            bar = "#" * filled + "." * (WIDTH - filled)
            self._write(f"\r{self.what} [{bar}] {done} of {of}{self._left(done, of):<16}")
            self.open = True
        elif 10 * done // of != self.told:
            self.told = 10 * done // of
            self._write(f"{self.what}: {done} of {of}{self._left(done, of)}\n")

    def end(self) -> None:
        """Leave the line, so that what comes next has one of its own."""
        if self.open:
            self._write("\n")
            self.open = False

    def _left(self, done, of):
        if not 0 < done < of:
            return ""
        seconds = (self.clock() - self.started) / done * (of - done)
        return f", {seconds // 60:.0f}:{seconds % 60:02.0f} left"

    def _write(self, text):
        self.stream.write(text)
        self.stream.flush()
