"""Chapter 06's widget: workers, rule, learning rate, a slow worker; each change trains again on real processes.

The processes start with the first training and end with the widget; the failure lab trains on such ones, too.
"""

import threading
from functools import partial
from typing import Any

import ipywidgets
import torch
import traitlets

from course import draw
from course.cluster import Cluster, local_cluster
from course.draw.picture import Picture
from course.training import Hook, StopOnNaN, linear_regression, slowed, train
from course.widgets.explorer import Explorer

_SLOW = 0.005  # seconds added to each batch of the slowed worker: several quick steps long


class TrainingExplorer(Explorer):
    """Trains a line, the `problem`, on a parameter server and three workers, in processes of the widget's own."""

    background = True
    mode = traitlets.Enum(["async", "sync"], "async").tag(state=True)

    def __init__(self, **state: object) -> None:
        self.problem = linear_regression()
        self._closed, self._starting = False, threading.Lock()
        self._cluster: Cluster | None = None
        super().__init__(**state)

    def rules(self) -> Any:
        """Return the choice of `mode`."""
        return self.choice(
            "mode", [("asynchronous: nobody waits", "async"), ("synchronous: everybody waits", "sync")], "rule"
        )

    def cluster(self) -> Cluster:
        """Return the `Cluster`, started by the first call, in any thread; raises RuntimeError once closed."""
        with self._starting:
            if self._closed:
                raise RuntimeError(f"{type(self).__name__}: it is closed; make a new one.")
            if self._cluster is None:
                self._cluster = local_cluster(ps=1, worker=3)
            return self._cluster

    def close(self) -> None:
        """Stop training, end the processes (those that are just starting too), and remove the widget. Idempotent."""
        super().close()
        with self._starting:
            self._closed = True
            if self._cluster is not None:
                self._cluster.close()


class RegressionLab(TrainingExplorer):
    """Train a line on one parameter-server process and up to three worker processes, as the controls say.

    State: `workers` (1 to 3), `mode` ("async" or "sync"), `learning_rate`, `steps` (updates), `slow` (the last worker
    takes 5 ms longer a batch). `result` is the `TrainingResult`. The processes start with the first training and live
    until `close()`.
    """

    workers = traitlets.Int(3, min=1, max=3).tag(state=True)
    learning_rate = traitlets.Float(0.02, min=1e-4, max=10.0).tag(state=True)
    steps = traitlets.Int(1000, min=1, max=100_000).tag(state=True)
    slow = traitlets.Bool(False).tag(state=True)

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the controls: workers, rule, learning rate, updates, and whether one worker is slow."""
        shown = {"readout_format": ".3g", "continuous_update": False}
        log = ipywidgets.FloatLogSlider  # from exponent to exponent of ten
        return [
            self.slider("workers", 1, 3, "workers"),
            self.rules(),
            self.slider("learning_rate", -3, 0.5, "learning rate", 0.05, log, **shown),
            self.slider("steps", 100, 3000, "updates", step=100, continuous_update=False),
            self.choice("slow", [("all alike", False), ("the last one is slow", True)], "workers' speed"),
        ]

    def compute(self) -> Any:
        """Train once on the processes; the state is read at the start."""
        steps = self.steps
        problem = slowed(self.problem, self.workers - 1, _SLOW) if self.slow else self.problem

        return train(
            problem,
            self.cluster(),
            optimizer=partial(torch.optim.SGD, lr=self.learning_rate),
            mode=self.mode,
            workers=self.workers,
            total_steps=steps,
            hooks=[_Progress(self, steps), StopOnNaN()],
        )

    def draw(self, result: Any) -> Picture:
        """Return the fitted line, the losses and the staleness, with the distance to the best line on top."""
        best = self.problem.least_squares()
        slope, intercept = (result.parameters[name].item() for name in ("slope", "intercept"))
        off = max(abs(slope - best.slope) / best.slope_error, abs(intercept - best.intercept) / best.intercept_error)
        found = off < 3
        rule = "nobody waits" if result.mode == "async" else "everybody waits"
        count = f"{result.workers} worker{'s' if result.workers != 1 else ''}"
        title = f"{count}, {rule}: the line is {'found' if found else 'not found'}"
        distance = f"{off:,.1f} standard errors" if off < 1e6 else "out of sight"
        mean = f"{result.staleness.mean():.1f} updates late on average" if len(result.history) else "none was applied"
        said = f"{distance} from the best line after {result.version:,} updates; gradients: {mean}"
        shown = draw.training(
            result.history,
            title,
            points=(self.problem.x.numpy(), self.problem.y.numpy()),
            line=(slope, intercept) if off < 1e3 else None,
            best=(best.slope, best.intercept),
            alt=said,
        )
        stopped = f" Stopped: {result.stopped_by}." if result.stopped_by else ""
        note = f"{said}; {result.steps_per_second:,.0f} updates a second on this machine.{stopped}"
        number = f'<div class="figure">{distance}</div><p class="note">{note}</p>'
        return draw.html(shown.html + number, f"{title}. {said}.{stopped}")


class _Progress(Hook):
    """Moves the widget's bar, and stops when its button was pressed or its state has changed."""

    def __init__(self, widget, steps):
        self.widget, self.steps = widget, steps

    def after_run(self, session, step):
        if self.widget.stopped.is_set():
            session.request_stop("by its button, or by a new setting")
        if step.step % max(1, self.steps // 20) == 0:
            self.widget.progress(min(1.0, step.step / self.steps))
