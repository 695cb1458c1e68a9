"""Hooks that say how training gets on: one line that renews itself, and the rate of updates.

Not tqdm's bar: what a stored notebook keeps of it differs from run to run, and this line's last words don't.
"""

import time
from collections.abc import Callable, Sequence

import torch

from course.progress_line import LateLine, SaidLine, progress_line
from course.training.hooks.base import Hook, Session
from course.training.hooks.fetches import Fetches
from course.training.records import Event, Step

_LATEST = 4.0  # seconds over which the present rate is measured


def late_line(hooks: Sequence[Hook]) -> LateLine:
    """Return the line on a training that takes long: silent where one of `hooks` shows how it gets on."""
    return LateLine("updates", silent=any(getattr(hook, "shows_progress", False) for hook in hooks))


class StepRate(Hook):
    """Measure updates a second, over every `every` updates: `.rates` is a list of (step, updates a second).

    It counts by the times at which the store applied them, so hooks that run later don't blur it.
    """

    def __init__(self, every: int = 100):
        if every < 1:
            raise ValueError(f"StepRate(every={every}): give a number of updates from 1 up.")
        self.every = every
        self.rates: list[tuple[int, float]] = []
        self._from: Step | None = None

    @property
    def rate(self) -> float | None:
        """The last rate measured, in updates a second; None before the first."""
        return self.rates[-1][1] if self.rates else None

    def begin(self, session: Session) -> None:
        """Start anew."""
        self.rates, self._from = [], None

    def after_run(self, session: Session, step: Step) -> None:
        """Measure when `every` updates have passed."""
        if self._from is None or step.step < self._from.step:  # the start, or a restart from a checkpoint
            self._from = step
        elif step.step >= self._from.step + self.every:
            seconds = step.applied - self._from.applied
            if seconds > 0:
                self.rates.append((step.step, (step.step - self._from.step) / seconds))
            self._from = step


class ShowProgress(Hook):
    """Show one line that renews itself: the step, the last loss, updates a second and the time left.

    In a terminal and in a notebook; into a file or a pipe nothing is written. When training is done the line says how
    many updates there were and nothing that differs from run to run, so a stored notebook stays the same.
    """

    shows_progress = True

    def __init__(self):
        self._line, self._due, self._began, self._looks = None, 0.0, 0.0, []

    def begin(self, session: Session) -> None:
        """Find out where the line can be shown."""
        self._line, self._due, self._began, self._looks = self._shown_on(), 0.0, time.monotonic(), []

    def after_run(self, session: Session, step: Step) -> None:
        """Renew the line now and then."""
        clock = time.monotonic()
        if self._line is None or clock < self._due:
            return
        self._due = clock + self._line.pause(clock - self._began)
        self._line.show(_text(session, step, self._rate(step.step, clock)))

    def end(self, session: Session) -> None:
        """Leave a last line that is the same in every run."""
        if self._line is not None:
            stopped = f", stopped: {session.stop_reason}" if session.stop_reason else ""
            self._line.show(f"{session.step:,} of {session.limit:,} updates{stopped}", last=True)
            self._line = None

    def _shown_on(self):
        return progress_line()

    def _rate(self, step, clock):
        """Return updates a second over about the last four seconds, None before there are two looks."""
        before = [(s, t) for s, t in self._looks if s <= step]
        self._looks = ([(s, t) for s, t in before if clock - t < _LATEST] or before[-1:]) + [(step, clock)]
        first, since = self._looks[0]
        return (step - first) / (clock - since) if clock > since else None


class SayProgress(ShowProgress):
    """Say a line, as `ShowProgress` shows it, to `say`, every two seconds and later on more rarely.

    Also who joined, what a validation finds, and every event. Lines stay: in a terminal, and in a file.
    """

    def __init__(self, say: Callable[[str], None]):
        super().__init__()
        self._say, self._joined = say, set()

    def begin(self, session: Session) -> None:
        """Start anew."""
        super().begin(session)
        self._joined = set()

    def after_run(self, session: Session, step: Step) -> None:
        """Say whose first gradient this is, and now and then how training gets on."""
        if step.worker not in self._joined:
            self._joined.add(step.worker)
            self._say(f"/job:worker/task:{step.worker} has joined: its first gradient is in step {step.step}")
        super().after_run(session, step)

    def _shown_on(self):
        return SaidLine(self._say)

    def event(self, session: Session, event: Event) -> None:
        """Say it."""
        task = f"{event.task}: " if event.task else ""
        self._say(f"step {event.step}: {task}{event.what}{f' ({event.reason})' if event.reason else ''}")

    def validated(self, session: Session, step: int, values: dict[str, float]) -> None:
        """Say it."""
        self._say(f"step {step}: validated, " + ", ".join(f"{name} {value:.3g}" for name, value in values.items()))


class SayParameters(Hook):
    """Say step, parameters and loss every `every` updates, as `parameters_in_words` has them, to `say`.

    The step is the version that the parameters are of; the loss is that of the gradient which was due.
    """

    def __init__(self, say: Callable[[str], None], every: int):
        self._say, self._every, self._said = say, every, -1
        self.copies_every = every

    def before_run(self, session: Session) -> Fetches | None:
        """Ask for the parameters of a step whose number is a multiple."""
        return ["version", lambda parameters: parameters] if (session.step + 1) % self._every == 0 else None

    def after_run(self, session: Session, step: Step) -> None:
        """Say them."""
        if step.values is not None and step.step != self._said:  # a synchronous update comes once for each gradient
            self._said, (version, parameters) = step.step, step.values
            self._say(parameters_in_words(version, parameters, step.loss))


def parameters_in_words(step: int, parameters: dict[str, torch.Tensor], loss: float) -> str:
    """Return one line, such as "step: 1000, slope: 1.998, intercept: 9.981, loss: 0.109".

    Of a tensor of up to four numbers all are there, of a larger one its norm is.
    """
    words = [f"step: {step}"]
    for name, value in parameters.items():
        numbers = value.detach().flatten()
        shown = (
            " ".join(f"{number:g}" for number in numbers.tolist()) if len(numbers) <= 4 else f"norm {numbers.norm():g}"
        )
        words.append(f"{name}: {shown}")
    return ", ".join([*words, f"loss: {loss:g}"])


def _text(session, step, rate):
    text = f"{step.step:,} of {session.limit:,} updates · loss {step.loss:.4g}"
    if rate:
        text += f" · {rate:,.0f} a second · {(session.limit - step.step) / rate:.0f} s left"
    return text
