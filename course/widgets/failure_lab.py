"""Chapter 06's failure lab: a training that runs slowly enough to be hit, and a timeline of what that did to it."""

import threading
import weakref
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import ipywidgets
import torch
import traitlets

from course import draw
from course.draw.picture import Picture
from course.training.driver.aftermath import aftermath
from course.training.driver.rehearsal import ACTIONS, Rehearsal, RehearsalRecord
from course.widgets.regression_lab import TrainingExplorer

_RATE = 0.001  # learning rate: the loss falls for about ten seconds, so that a step back can be seen
_REDRAW = 0.7  # seconds between two pictures: one takes 0.1 to 0.3 s
_SOON = 0.5  # seconds: a shorter pause than this is a worker's turn, or a busy machine
_PS = "/job:ps/task:0"


class FailureLab(TrainingExplorer):
    """Train a line on one parameter-server process and two or three workers, and hit them while they work.

    State: `workers` (2 or 3), `mode` ("async" or "sync"), `seconds` (how long a training lasts), `plan`: what is done
    by itself, a list of `(second, action, task)` with the actions "kill", "freeze", "thaw", "slow" and "quick".
    While a training runs, `act(action, task)` does one at once, as the buttons do to the worker chosen in `target`;
    `refresh()` trains again. `result` is the `RehearsalRecord` of the last training. The processes start with the
    first training and live until `close()`, or until there is another lab, as when a cell is run again.
    """

    workers = traitlets.Int(3, min=2, max=3).tag(state=True)
    seconds = traitlets.Float(20.0, min=1.0, max=120.0).tag(state=True)
    plan: traitlets.List = traitlets.List().tag(state=True)
    target = traitlets.Unicode("/job:worker/task:1")
    _open: Callable[[], "FailureLab | None"] = staticmethod(lambda: None)  # a weak reference to the lab that is open

    def __init__(self, **state: object) -> None:
        self._rehearsal: Rehearsal | None = None  # the training that runs, to be hit
        super().__init__(**state)
        before, FailureLab._open = FailureLab._open, weakref.ref(self)
        if (lab := before()) is not None:
            lab.stop()
            threading.Thread(target=lab.close, name="closing the lab before").start()  # it may take seconds

    @traitlets.validate("plan")
    def _checked_plan(self, proposal):
        plan = [tuple(step) for step in proposal["value"]]
        for step in plan:
            if len(step) != 3 or not isinstance(step[0], (int, float)) or step[1] not in ACTIONS:
                raise traitlets.TraitError(
                    f"FailureLab(plan=[{step!r}]): give (second, action, task), as in (2.0, 'kill', {_PS!r}); "
                    f"actions are {', '.join(ACTIONS)}."
                )
        return plan

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the controls: how to train, which worker is hit, and how."""
        targets = [(f"worker {k}", f"/job:worker/task:{k}") for k in range(3)]
        wide = {"layout": {"width": "180px"}}
        self._buttons = [
            self.button("Kill worker", lambda: self._press("kill", self.target), icon="bolt"),
            self.button("Freeze worker", lambda: self._press("freeze", self.target), icon="pause"),
            self.button("Thaw worker", lambda: self._press("thaw", self.target), icon="play"),
            self.button("Slow worker", lambda: self._press("slow", self.target), icon="hourglass-half"),
            self.button("Kill parameter server", lambda: self._press("kill", _PS), icon="bolt", **wide),
        ]
        again = self.button("Train again", self.refresh, icon="repeat")
        length = self.slider("seconds", 1, 60, "seconds", kind=ipywidgets.FloatSlider, continuous_update=False)
        self._said = ipywidgets.HTML()
        return [
            self.rules(),
            self.slider("workers", 2, 3, "workers"),
            length,
            self.choice("target", targets, "worker to hit", kind=ipywidgets.ToggleButtons),
            ipywidgets.HBox([*self._buttons, again], layout={"flex_flow": "row wrap"}),
            self._said,
        ]

    def act(self, action: str, task: str) -> None:
        """Do "kill", "freeze", "thaw", "slow" or "quick" to `task` at once; RuntimeError when no training runs."""
        if action not in ACTIONS:
            raise ValueError(f"act({action!r}): the actions are {', '.join(ACTIONS)}.")
        rehearsal = self._rehearsal  # may end at any moment
        if rehearsal is None:
            raise RuntimeError(f"act({action!r}, {task!r}): no training runs. Start one by refresh(), or Train again.")
        rehearsal.act(action, task)

    def wait(self, timeout: float | None = None) -> "FailureLab":
        """Return when the training has ended; raises TimeoutError after `timeout` seconds (default: its own + 120)."""
        return super().wait(self.seconds + 120 if timeout is None else timeout)

    def compute(self) -> RehearsalRecord:
        """Train for `seconds` on the processes, drawing now and then; return the `RehearsalRecord`."""
        settings = {"optimizer": partial(torch.optim.SGD, lr=_RATE), "mode": self.mode, "workers": self.workers}
        rehearsal = Rehearsal(self.cluster(), self.problem, self.seconds, self.plan, **settings)
        over = threading.Event()
        drawing = threading.Thread(target=self._draw_now_and_then, args=(rehearsal, over), daemon=True)
        self._rehearsal = rehearsal
        drawing.start()
        try:
            return rehearsal.run()
        finally:
            self._rehearsal = None
            over.set()
            drawing.join()

    def draw(self, result: Any, until: float | None = None) -> Picture:
        """Return the timeline of a `RehearsalRecord`, and below it a line for each hit: noticed, back, paused.

        `until`: seconds at which the timeline ends, by default after the last event.
        """
        hits = aftermath(result.history, result.events)
        shown = draw.faults(result.history, result.events, _title(hits), until)
        lines = [_line(hit) for hit in hits]
        if result.ended:
            lines.append(f"Ended at {len(result.rows):,} gradients: {result.ended.rstrip('.')}.")
        notes = "".join(f'<p class="note">{escape(line)}</p>' for line in lines)
        return draw.html(shown.html + notes, " ".join([shown.alt, *lines]))

    def _press(self, action, task):
        """Do what a button says, without holding up the kernel: a frozen task may take seconds not to answer."""
        threading.Thread(target=self._act_and_say, args=(action, task), name=action, daemon=True).start()

    def _act_and_say(self, action, task):
        """Act; a click has no caller, so what is wrong is shown beside the buttons."""
        try:
            self.act(action, task)
            said = f"{task}: {ACTIONS[action]}"
        except (OSError, RuntimeError, ValueError) as error:
            said = str(error)
        self._said.value = f'<div role="status">{escape(said)}</div>'

    def _draw_now_and_then(self, rehearsal, over):
        """Draw while it runs, in a thread of its own: when nothing is told, the gap on the timeline still grows."""
        self._picture.value = self.draw(rehearsal.record, until=1.0).html  # loads matplotlib, 1 s, meanwhile
        while not over.wait(_REDRAW):
            if self.stopped.is_set():
                rehearsal.stop("by its button, or by a new setting")
            self.progress(min(1.0, rehearsal.seconds / self.seconds))
            if rehearsal.record.rows:
                self._picture.value = self.draw(rehearsal.record, until=rehearsal.seconds).html

    def _show_busy(self, busy):
        super()._show_busy(busy)
        for button in self._buttons:
            button.disabled = not busy


def _title(hits):
    """State what the hit that cost most did; one line of a picture has room for one."""
    if not hits:
        return "Nobody has been hit"
    worst = max(hits, key=lambda hit: hit.pause)
    if worst.pause < _SOON:
        return f"{_short(worst.task)} was {worst.what}, and training never stopped"
    return f"{_short(worst.task)} was {worst.what}: {worst.pause:.1f} s without an update"


def _line(hit):
    noticed = "not noticed" if hit.noticed is None else f"noticed after {hit.noticed:.2f} s"
    back = "not back yet" if hit.back is None else f"back after {hit.back:.2f} s"
    undone = f", {hit.undone:,} updates undone" if hit.undone else ""
    pause = f"longest time without an update {hit.pause:.2f} s"
    return f"{_short(hit.task)} {hit.what} at {hit.at:.1f} s: {noticed}, {back}; {pause}{undone}."


def _short(task):
    job, _, index = task.removeprefix("/job:").partition("/task:")
    return "Parameter server" if job == "ps" else f"{job.capitalize()} {index}"
