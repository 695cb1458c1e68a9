"""`Watch`: the data for a picture of a training while it runs, in a memory that does not grow with it."""

import time
from collections import Counter, deque
from collections.abc import Callable

import numpy

from course.training.hooks.base import Hook, Session
from course.training.records import RECORD, Event, Step

_MOST_STEPS = 400  # steps: a picture has no room for more
_LATEST = 5.0  # seconds over which the present rate is measured
_EVENTS = 50
_PAUSE = 0.25  # seconds between two looks: an eye reads no faster


class Watch(Hook):
    """Keep what a picture needs, and call `shown(self)` at most four times a second, after an event, and at the end.

    - `step`, `limit`, `seconds`, `mode`: how far training is. `rate`: updates a second over the last five seconds, None
      before there are two looks; `remaining`: seconds that are left at that rate, None where that is not known.
    - `history`: rows as in `TrainingResult.history`, of at most 400 steps: every one, then every second, every fourth …
      `staleness`: a Counter of all gradients' staleness. `events`: the last 50. `stopped_by`: why a hook stopped it.
    - `ended`: whether it is over. `stop(reason)` asks for the end, from any thread.

    Steps that the loss of a parameter server undid go out of `history`; `staleness` has counted them.
    """

    def __init__(self, shown: Callable[["Watch"], object] = lambda watch: None):
        self._shown = shown
        self._session: Session | None = None
        self._clear()

    def _clear(self):
        self.step = self.limit = 0
        self.seconds, self.mode, self.ended = 0.0, "", False
        self.stopped_by: str | None = None
        self.staleness: Counter[int] = Counter()
        self.events: deque[Event] = deque(maxlen=_EVENTS)
        self._steps: list[Step] = []
        self._every = 1
        self._looks: deque[tuple[float, int]] = deque()  # (second, step) of the last seconds
        self._due = 0.0

    @property
    def history(self) -> numpy.ndarray:
        """The steps that are kept: array of `RECORD`."""
        return numpy.array([tuple(step) for step in self._steps], dtype=RECORD)

    @property
    def rate(self) -> float | None:
        """Updates a second over the last seconds."""
        if len(self._looks) < 2:
            return None
        (since, first), (until, last) = self._looks[0], self._looks[-1]
        return (last - first) / (until - since) if until > since and last > first else None

    @property
    def remaining(self) -> float | None:
        """Seconds that are left at the present rate; 0 at the end."""
        if self.ended:
            return 0.0
        return (self.limit - self.step) / self.rate if self.rate else None

    @property
    def fraction(self) -> float:
        """How much of the training is done, 0 to 1."""
        return min(1.0, self.step / self.limit) if self.limit else 0.0

    def stop(self, reason: str) -> None:
        """Ask for the end of the training, from any thread; nothing happens where none runs."""
        if self._session is not None:
            self._session.request_stop(reason)

    def begin(self, session: Session) -> None:
        """Start anew."""
        self._clear()
        self._session, self.step, self.limit = session, session.step, session.limit
        self.mode = session.settings.get("mode", "")

    def after_run(self, session: Session, step: Step) -> None:
        """Keep the step, or not, and show now and then."""
        if step.step < self.step:  # a restart from a checkpoint
            self._steps = [earlier for earlier in self._steps if earlier.step < step.step]
            self._looks.clear()
        self.step, self.limit, self.seconds = step.step, session.limit, step.applied
        self.staleness[step.staleness] += 1
        if step.step % self._every == 0:
            self._steps.append(step)
            if len(self._steps) > _MOST_STEPS:
                self._every *= 2
                self._steps = [step for step in self._steps if step.step % self._every == 0]
        clock = time.monotonic()
        if clock >= self._due:
            self._look(step)
            self._due = clock + _PAUSE
            self._shown(self)

    def event(self, session: Session, event: Event) -> None:
        """Keep the event, and show it."""
        self.events.append(event)
        self._shown(self)

    def end(self, session: Session) -> None:
        """Show how it ended."""
        self.stopped_by, self.ended, self._session = session.stop_reason, True, None
        self._shown(self)

    def _look(self, step):
        self._looks.append((step.applied, step.step))
        while step.applied - self._looks[0][0] > _LATEST and len(self._looks) > 2:
            self._looks.popleft()
