"""Progress on a line: one that renews itself in a terminal or a notebook, and one that comes only when work is long."""

import os
import sys
import threading
import time
from collections.abc import Callable

#: Set in the environment of a kernel whose outputs will be stored.
STATIC_TWINS = "COURSE_STATIC_TWINS"
_LATE = 2.0  # seconds until work is long
_RENEW = 0.2  # seconds between two renewals of a line: an eye reads no faster
_SAY = 2.0  # seconds between two lines that stay


class Line:
    """A line that `show` writes anew."""

    def show(self, text: str, last: bool = False) -> None:
        """Write `text`; `last`: nothing comes after it."""
        raise NotImplementedError

    def pause(self, running: float) -> float:
        """Return the seconds until it is written next, of work that has been `running` for so many."""
        return _RENEW


def progress_line() -> Line | None:
    """Return the line to write on, or None where output is no screen."""
    if "IPython" in sys.modules:
        from IPython import get_ipython

        if getattr(get_ipython(), "kernel", None) is not None:
            return _NotebookLine()
    return _TerminalLine(sys.stdout) if sys.stdout is not None and sys.stdout.isatty() else None


class _TerminalLine(Line):
    def __init__(self, stream):
        self._stream, self._width = stream, 0

    def show(self, text, last=False):
        self._stream.write("\r" + text.ljust(self._width) + ("\n" if last and text else "\r" * last))
        self._stream.flush()
        self._width = len(text)


class SaidLine(Line):
    """A line whose text is passed to the function `say` each time."""

    def __init__(self, say: Callable[[str], None]):
        self._say = say

    def show(self, text: str, last: bool = False) -> None:
        """Say `text`."""
        self._say(text)

    def pause(self, running: float) -> float:
        """Return two seconds, later on more: of a day's work there are some hundred lines."""
        return max(_SAY, running / 20)


class _NotebookLine(Line):
    """An output without data, which updates give its text: nbval compares what is displayed, never an update of it.

    The last text is an output of its own: it is the same in every run, and compared.
    """

    def __init__(self):
        self._handle = None

    def show(self, text, last=False):
        from IPython.display import display

        if self._handle is None and not last:
            self._handle = display(display_id=True)
        if self._handle is not None:
            self._handle.update({} if last else {"text/plain": text}, raw=True)
        if last and text:
            display({"text/plain": text}, raw=True)


class LateLine:
    """A line on work that takes longer than two seconds; it goes when the work is done, and nothing of it is stored.

    `with LateLine("darts") as line:`, and inside `line.look(done, of)` now and then, which is cheap. Where output is no
    screen, outside the main thread, and while outputs are made to be stored, it says nothing. `silent`: it says nothing
    either, because another line shows the progress.
    """

    def __init__(self, unit: str, silent: bool = False):
        self._unit, self._silent, self._began, self._due = unit, silent, 0.0, 0.0
        self._line: Line | None = None
        self._first: float | None = None  # what was done at the first look: work may go on from there

    def look(self, done: float, of: float) -> None:
        """Show, if it is time to, that `done` of `of` is done, and how many seconds are left."""
        if self._first is None:
            self._first = done
        moment = time.monotonic()
        if moment < self._due:
            return
        if self._line is None:
            self._line = progress_line()
            if self._line is None:
                self._due = float("inf")
                return
        self._due = moment + self._line.pause(moment - self._began)
        progress = done - self._first
        remaining = f" · {(of - done) * (moment - self._began) / progress:,.0f} s left" if progress > 0 else ""
        self._line.show(f"{done:,} of {of:,} {self._unit}{remaining}")

    def __enter__(self) -> "LateLine":
        silent = self._silent or threading.current_thread() is not threading.main_thread()
        silent = silent or bool(os.environ.get(STATIC_TWINS))
        self._began = time.monotonic()
        self._due = float("inf") if silent else self._began + _LATE
        return self

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.show("", last=True)
            self._line = None
