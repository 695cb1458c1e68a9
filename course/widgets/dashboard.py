"""`Dashboard`: a hook that shows a training while it runs, with what is left of it and a button to stop it."""

import os
import sys
from typing import Any

from course import draw
from course.draw.picture import Picture
from course.draw.training import of_workers
from course.progress_line import STATIC_TWINS
from course.training.hooks.base import Hook, Session
from course.training.hooks.progress import SayProgress
from course.training.hooks.watch import Watch
from course.training.records import Event, Step
from course.units import in_words
from course.widgets.exhibits.exhibit import Exhibit
from course.widgets.pairs import pairs

_LATEST = 8  # gradients at least so late share one bar
_SHOWN = 120  # looks that the page draws of the rate, and of each worker's losses
_WORDS = "training begins; its picture follows"


class Dashboard(Exhibit, Hook):
    """Give one to any training, here or on a deployed cluster: `train(problem, cluster, hooks=[Dashboard()])`.

    In a notebook it is an exhibit that grows while the cell runs; its button asks for the end, as
    `session.request_stop` does, so `train` returns with what was reached. What stays in the notebook is the finished
    picture. In a terminal, or where output goes into a file, it prints a line every two seconds and later more rarely.
    `watch` has the numbers (see `Watch`); workers never wait for any of it. One training at a time; then it may be
    used again. `title`: words for the headline.
    """

    module = "dashboard.js"
    styles = ("exhibits/training_panels.css",)
    shared = ("axes.js", "controls.js", "training_panels.js")
    heard_at_once = shows_progress = True

    def __init__(self, title: str = "") -> None:
        self.title, self.watch = title, Watch(self._grew)
        self._handle: Any = None
        self._hooks: list[Hook] = [self.watch]
        super().__init__()

    def engine(self) -> Watch:
        """Return what is known of the training."""
        return self.watch

    def stop(self) -> None:
        """Ask for the end of the training that runs; the button does this."""
        self.watch.stop("by the dashboard's button")

    def begin(self, session: Session) -> None:
        """Show the exhibit, or begin to print."""
        self._handle, self._hooks = None, [self.watch]
        if not _in_notebook():
            self._hooks.append(SayProgress(print))
        for hook in self._hooks:
            hook.begin(session)
        if _in_notebook() and not os.environ.get(STATIC_TWINS):
            self._handle = _displayed(self)

    def after_run(self, session: Session, step: Step) -> None:
        """Take the step in."""
        for hook in self._hooks:
            hook.after_run(session, step)

    def event(self, session: Session, event: Event) -> None:
        """Take the event in."""
        for hook in self._hooks:
            hook.event(session, event)

    def end(self, session: Session) -> None:
        """Leave the finished picture, or the last line."""
        for hook in self._hooks:
            hook.end(session)
        if self._handle is not None:
            self._handle.update(self)
        elif _in_notebook():
            _displayed(self)

    def answer(self, result: Watch) -> dict[str, Any]:
        """Return the headline, and the losses, the shares of lateness and the rates as numbers."""
        figure, small, sentence = _words(result, self.title)
        rows = result.history
        shares = _shares(result.staleness)
        return {
            "figure": figure,
            "small": small,
            "sentence": sentence,
            "limit": result.limit,
            "losses": {worker: pairs(own["step"], own["loss"], _SHOWN) for worker, own in of_workers(rows).items()},
            "staleness": [round(share, 4) for share in shares],
            "more": len(shares) > _LATEST,
            "rates": _rates(rows),
        }

    def draw(self, result: Watch) -> Picture:
        """Return losses and staleness, under the headline."""
        figure, small, sentence = _words(result, self.title)
        alt = f"{figure}; {small}. {sentence}".strip()
        if not len(result.history):
            return draw.html(f'<p class="note">{_WORDS}</p>', alt)
        shown = draw.training(result.history, figure, alt=f"{small}. {sentence}")
        return draw.html(f'<p class="note">{small}. {sentence}</p>{shown.html}', alt)

    def _grew(self, watch):
        busy = {} if watch.ended else {"busy": watch.fraction}
        if self._wire is not None:
            self._tell({"settings": {}, "answer": self.answer(watch), **busy})

    def _shown(self):
        """Return the still; while it runs, a line: a drawing would hold the training's beginning up."""
        if self.watch.ended or os.environ.get(STATIC_TWINS):
            return self.static()
        return draw.html(f'<p class="note">{_WORDS}</p>', _WORDS)

    def __repr__(self) -> str:
        figure, small, _ = _words(self.watch, self.title)
        return f"Dashboard({figure}; {small})"


def _in_notebook():
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _displayed(dashboard):
    from IPython.display import display

    return display(dashboard, display_id=True)


def _words(watch, title):
    """Return the headline, what stands beside it, and a sentence of what happened."""
    count = f"{watch.step:,} of {watch.limit:,} updates"
    figure = f"{title}: {count}" if title else count
    total = sum(watch.staleness.values())
    late = sum(age * many for age, many in watch.staleness.items()) / total if total else 0.0
    ages = f"staleness {late:.1f} on average, {max(watch.staleness, default=0)} at most"
    if watch.ended:
        whole = f"{watch.step / watch.seconds:,.0f} a second, " if watch.seconds else ""
        small = f"{in_words(watch.seconds)}; {whole}{ages}"
    else:
        remaining = "the time left is not known yet" if watch.remaining is None else f"{watch.remaining:,.0f} s left"
        small = f"{watch.rate:,.0f} a second; {remaining}; {ages}" if watch.rate else f"{remaining}; {ages}"
    sentences = [f"Stopped: {watch.stopped_by}."] if watch.stopped_by else []
    latest = [event for event in watch.events if event.what != "checkpoint saved"][-3:]
    sentences += [f"At update {event.step:,}: {event.task.removeprefix('/job:')} {event.what}." for event in latest]
    return figure, small, " ".join(sentences)


def _shares(staleness):
    """Return which part of the gradients was 0, 1, 2 … updates late; the last place has all that were later."""
    total = sum(staleness.values())
    if not total:
        return [0.0]
    shares = [0.0] * (min(max(staleness), _LATEST) + 1)
    for age, many in staleness.items():
        shares[min(age, _LATEST)] += many / total
    return shares


def _rates(rows):
    """Return [second, updates a second] at a few dozen places along the kept rows."""
    looks = rows[:: max(1, len(rows) // 40)]
    steps, times = looks["step"].tolist(), looks["applied"].tolist()
    pairs = zip(zip(steps, times, strict=True), zip(steps[1:], times[1:], strict=True), strict=False)
    return [[round(t, 3), round((s - s0) / (t - t0), 1)] for (s0, t0), (s, t) in pairs if t > t0]
