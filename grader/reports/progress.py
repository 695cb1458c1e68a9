"""A bar while marks are made: click's on a terminal; elsewhere, as in a log, a line every tenth."""

import sys
from typing import Any, TextIO

import click


class Progress:
    """Called as `progress(done, of)`; writes to stderr, so that stdout is the report."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label, self.stream, self._tenth = label, sys.stderr if stream is None else stream, -1
        self._bar: Any = None

    def __call__(self, done: int, of: int) -> None:
        """Show that `done` are done, of so many."""
        if of == 0:
            return
        if self._bar is None:
            self._bar = click.progressbar(length=of, label=self.label, show_pos=True, file=self.stream)
        self._bar.make_step(done - self._bar.pos)
        if self.stream.isatty():
            self._bar.render_progress()
        elif 10 * done // of != self._tenth:
            self._tenth = 10 * done // of
            remaining = f", {eta} left" if 0 < done < of and (eta := self._bar.format_eta()) else ""
            self.stream.write(f"{self.label}: {done} of {of}{remaining}\n")
            self.stream.flush()

    def end(self) -> None:
        """Leave the line, so that what comes next has one of its own."""
        if self._bar is not None and self.stream.isatty():
            self._bar.render_finish()
