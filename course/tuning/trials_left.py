"""The line of progress: how many trials have ended, and how many seconds are left."""

import time
from collections.abc import Callable

from course.progress_line import Line, SaidLine, progress_line


class Remaining:
    """Shows how many of `budget` trials have ended: in a line here, or through the function `progress`.

    `before`: trials that had ended in the journal; the seconds that are left are estimated from this call's own.
    """

    def __init__(self, progress: bool | Callable[[str], None], budget: int, before: int):
        self._line: Line | None = SaidLine(progress) if callable(progress) else progress_line() if progress else None
        self._budget, self._before, self._ended = budget, before, 0
        self._began = time.monotonic()
        self._due = 0.0

    def ended(self) -> None:
        """Count a trial that has ended."""
        self._ended += 1

    def show(self, running: int) -> None:
        """Renew the line, now and then; `running`: trials on their way."""
        moment = time.monotonic()
        if self._line is not None and moment >= self._due:
            self._due = moment + self._line.pause(moment - self._began)
            self._line.show(self.text(running, moment - self._began))

    def text(self, running: int, seconds: float) -> str:
        """Return the line after so many `seconds`, with `running` trials on their way."""
        done = self._before + self._ended
        text = f"{done} of {self._budget} trials · {running} running"
        if self._ended:
            text += f" · {seconds / self._ended * (self._budget - done):.0f} s left"
        return text

    def end(self) -> None:
        """Leave a last line that is the same in every run."""
        if self._line is not None:
            self._line.show(f"{self._before + self._ended} of {self._budget} trials", last=True)
