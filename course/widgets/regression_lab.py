"""Chapter 06's widget: workers, rule, learning rate, a slow worker; each change trains again on real processes.

The processes start with the first training and end with the widget; the failure lab trains on such ones, too.
"""

import os
import threading
import weakref
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
import traitlets

from course import draw
from course.cluster import Cluster, local_cluster
from course.draw.picture import Picture
from course.draw.training import of_workers
from course.progress_line import STATIC_TWINS
from course.training import Hook, StopOnNaN, linear_regression, slowed, train
from course.widgets.exhibits.exhibit import Exhibit
from course.widgets.pairs import pairs

_SHOWN = 50  # losses of each worker that the page draws
_LONG = 0.71  # a learning rate at which one worker finds the line and three do not
_STORED: list[dict[str, Any]] = [{}, {"workers": 1}, {"mode": "sync"}]
_SLOW = 0.005  # seconds added to each batch of the slowed worker: several quick steps long


class TrainingExhibit(Exhibit):
    """Trains a line, the `problem`, on a parameter server and three workers, in processes of the exhibit's own.

    They live until `close()`, or until there is another lab of the class, as when a cell is run again.
    """

    background = True
    _open: ClassVar[dict[type, "weakref.ref[TrainingExhibit]"]] = {}  # the lab of each class that is open
    mode = traitlets.Enum(["async", "sync"], "async").tag(state=True)

    def __init__(self, **state: object) -> None:
        self.problem = linear_regression()
        self._closed, self._starting = False, threading.Lock()
        self._cluster: Cluster | None = None
        super().__init__(**state)
        before, self._open[type(self)] = self._open.get(type(self)), weakref.ref(self)
        if before is not None and (lab := before()) is not None:
            lab.stop()
            threading.Thread(target=lab.close, name="closing the lab before").start()  # it may take seconds

    def wait(self, timeout: float | None = 120.0) -> Self:
        """Return when the training has ended, whose processes start first; TimeoutError after `timeout` seconds."""
        return super().wait(timeout)

    def stored(self) -> list:
        """Return the last training, if there is one; while outputs are made to be stored, also those of the grid."""
        own = [] if self.result is None else [(self._of, self.answer(self.result))]
        if not os.environ.get(STATIC_TWINS):
            return own  # others take processes, and a reader's cell would wait for them
        return own + [pair for pair in super().stored() if {**self.state(), **pair[0]} != self._of]

    def cluster(self) -> Cluster:
        """Return the `Cluster`, started by the first call, in any thread; raises RuntimeError once closed."""
        with self._starting:
            if self._closed:
                raise RuntimeError(f"{type(self).__name__}: it is closed; make a new one.")
            if self._cluster is None:
                self._cluster = local_cluster(ps=1, worker=3)
            return self._cluster

    def close(self) -> None:
        """Stop training, end the processes (those that are just starting too), and close the line. Idempotent."""
        super().close()
        with self._starting:
            self._closed = True
            if self._cluster is not None:
                self._cluster.close()


class RegressionLab(TrainingExhibit):
    """Train a line on one parameter-server process and up to three worker processes, as the controls say.

    State: `workers` (1 to 3), `mode` ("async" or "sync"), `learning_rate`, `steps` (updates), `slow` (the last worker
    takes 5 ms longer a batch). `result` is the `TrainingResult`. The processes start with the first training and live
    until `close()`, or until there is another lab, as when a cell is run again.
    """

    module = "regression_lab.js"
    styles = ("exhibits/training_panels.css", "regression_lab.css")
    shared = ("axes.js", "controls.js", "training_panels.js")
    workers = traitlets.Int(3, min=1, max=3).tag(state=True)
    learning_rate = traitlets.Float(0.02, min=1e-4, max=10.0).tag(state=True)
    steps = traitlets.Int(1000, min=1, max=100_000).tag(state=True)
    slow = traitlets.Bool(False).tag(state=True)

    def data(self) -> dict[str, Any]:
        """Return the points, the best line, and what the controls offer."""
        best = self.problem.least_squares()
        rates = {float(f"{10 ** (-3 + 0.05 * step):.2g}") for step in range(71)}
        return {
            "x": self.problem.x.tolist(),
            "y": self.problem.y.tolist(),
            "best": [best.slope, best.intercept],
            "rates": sorted({*rates, self.learning_rate}),
            "updates": sorted({*range(100, 3001, 100), self.steps}),
        }

    def grid(self) -> list[dict[str, Any]]:
        """Return the settings that a chapter's page can show without a kernel."""
        return [
            {**settings, "learning_rate": rate} for rate in {self.learning_rate: 0, _LONG: 0} for settings in _STORED
        ]

    def answer(self, result: Any) -> dict[str, Any]:
        """Return the verdict, the line, and of each worker's losses enough to see."""
        is_close, title, distance, note = self._verdict(result)
        rows = result.history
        late = np.bincount(result.staleness.astype(int)) / len(rows) if len(rows) else np.zeros(1)
        return {
            "figure": distance,
            "small": title,
            "sentence": note,
            "right": is_close,
            "line": _line(result),
            "losses": {worker: pairs(own["step"], own["loss"], _SHOWN) for worker, own in of_workers(rows).items()},
            "staleness": [round(float(share), 4) for share in late],
        }

    def engine(self, workers: int, mode: str, learning_rate: float, steps: int, slow: bool) -> Any:
        """Train once on the processes."""
        problem = slowed(self.problem, workers - 1, _SLOW) if slow else self.problem
        return train(
            problem,
            self.cluster(),
            optimizer=partial(torch.optim.SGD, lr=learning_rate),
            mode=mode,
            workers=workers,
            total_steps=steps,
            hooks=[_Progress(self, steps), StopOnNaN()],
        )

    def draw(self, result: Any) -> Picture:
        """Return the fitted line, the losses and the staleness, with the distance to the best line on top."""
        is_close, title, distance, note = self._verdict(result)
        best = self.problem.least_squares()
        shown = draw.training(
            result.history,
            title,
            points=(self.problem.x.numpy(), self.problem.y.numpy()),
            line=_line(result),
            best=(best.slope, best.intercept),
            alt=note,
        )
        number = f'<div class="figure">{distance}</div><p class="note">{note}</p>'
        return draw.html(number + shown.html, f"{title}. {note}")

    def _verdict(self, result):
        """Return whether the line was found, the finding, the distance from the best line, and all in a sentence."""
        best = self.problem.least_squares()
        slope, intercept = (result.parameters[name].item() for name in ("slope", "intercept"))
        off = max(abs(slope - best.slope) / best.slope_error, abs(intercept - best.intercept) / best.intercept_error)
        is_close = off < 3
        rule = "nobody waits" if result.mode == "async" else "everybody waits"
        count = f"{result.workers} worker{'s' if result.workers != 1 else ''}"
        title = f"{count}, {rule}: the line is {'found' if is_close else 'not found'}"
        distance = f"{off:,.1f} standard errors" if off < 1e6 else "out of sight"
        mean = f"{result.staleness.mean():.1f} updates late on average" if len(result.history) else "none was applied"
        words = f"{distance} from the best line after {result.version:,} updates; gradients: {mean}"
        stopped = f" Stopped: {result.stopped_by}." if result.stopped_by else ""
        speed = f"{result.steps_per_second:,.0f} updates a second on this machine"
        return is_close, title, distance, f"{words}; {speed}.{stopped}"


def _line(result):
    """Return slope and intercept, None for a line that can't be drawn beside the points."""
    line = [result.parameters[name].item() for name in ("slope", "intercept")]
    return line if all(np.isfinite(line)) and max(map(abs, line)) < 1e3 else None


class _Progress(Hook):
    """Moves the bar, and stops when its button was pressed or the state has changed."""

    shows_progress = True

    def __init__(self, widget, steps):
        self.widget, self.steps = widget, steps

    def after_run(self, session, step):
        if self.widget.stopped.is_set():
            session.request_stop("by its button, or by a new setting")
        if step.step % max(1, self.steps // 20) == 0:
            self.widget.progress(min(1.0, step.step / self.steps))
