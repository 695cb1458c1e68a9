"""`ParameterStore`: versions on a rail, and how far behind it each worker computes; simulated, or as recorded."""

from collections.abc import Mapping
from typing import Any

import traitlets

from course.draw import ROLES, Picture, figure, picture, worker_colour
from course.draw.timeline import strokes
from course.scale.parameter_store import (
    ACTIONS,
    HORIZON,
    MESSAGE,
    MODES,
    NEVER,
    UPDATE,
    StoreRun,
    parameter_store,
    recorded_run,
)
from course.widgets.exhibits.exhibit import Exhibit

SIMULATED = "simulated"
_PACES = [50, 75, 100, 150, 200, 300, 400, 600, 800, 1200]
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class ParameterStore(Exhibit):
    """A parameter server and three workers, six simulated seconds: their paces, the rule, and who is killed when.

    - `a`, `b`, `c`: milliseconds that each worker takes for a gradient, give or take a fifth; `mode`: "async" or
      "sync"; `seed`: of the chances. `faults`: list of [millisecond, "kill" or "revive", worker's number].
    - `recorded`: name -> `TrainingResult`, or its history: runs that can be replayed beside; the first 300 gradients of
      each. `run`: which is shown, one of these names, or "simulated".

    The page simulates and replays by itself. `result` is the `StoreRun` of the present state in Python.
    """

    module = "parameter_store.js"
    styles = ("parameter_store.css",)
    shared = ("chance.js", "axes.js", "controls.js", "scrubber.js", "store_run.js")
    run = traitlets.Unicode(SIMULATED).tag(state=True)
    mode = traitlets.Enum(list(MODES), "async").tag(state=True)
    a = traitlets.Int(200, min=1, max=5000).tag(state=True)
    b = traitlets.Int(200, min=1, max=5000).tag(state=True)
    c = traitlets.Int(600, min=1, max=5000).tag(state=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(state=True)
    faults: traitlets.List = traitlets.List().tag(state=True)

    def __init__(self, recorded: Mapping[str, Any] | None = None, **state: Any) -> None:
        trainings = recorded or {}
        self.recorded = {name: recorded_run(getattr(run, "history", run)) for name, run in trainings.items()}
        super().__init__(**{"run": next(iter(self.recorded), SIMULATED), **state})

    @traitlets.validate("run")
    def _checked_run(self, proposal):
        legal = [*self.recorded, SIMULATED]
        if proposal["value"] not in legal:
            raise traitlets.TraitError(f"ParameterStore(run={proposal['value']!r}): the runs are {', '.join(legal)}.")
        return proposal["value"]

    @traitlets.validate("faults")
    def _checked_faults(self, proposal):
        faults = [list(fault) for fault in proposal["value"]]
        for fault in faults:
            if len(fault) != 3 or fault[1] not in ACTIONS or fault[2] not in range(3) or not 0 <= fault[0]:
                raise traitlets.TraitError(
                    f"ParameterStore(faults=[{fault!r}]): give [millisecond, 'kill' or 'revive', worker], as in "
                    "[2000, 'kill', 2]; workers are 0, 1 and 2."
                )
        return faults

    def engine(self, run: str, mode: str, a: int, b: int, c: int, seed: int, faults: list) -> StoreRun:
        """Return the `StoreRun` of these settings."""
        if run != SIMULATED:
            return self.recorded[run]
        planned = [(round(1000 * at), action, worker) for at, action, worker in faults]
        return parameter_store(mode, [1000 * pace for pace in (a, b, c)], planned, seed)

    def data(self) -> dict[str, Any]:
        """Return what the controls offer, the simulation's fixed times, and the recorded runs as rows."""
        runs = {}
        for name, run in self.recorded.items():
            rows = [[g.worker, g.version, g.sent, g.ends, g.applied, g.step] for g in run.gradients]
            runs[name] = {"workers": run.workers, "horizon": run.horizon, "rows": rows}
        paces = sorted({*_PACES, self.a, self.b, self.c})
        return {"paces": paces, "message": MESSAGE, "update": UPDATE, "horizon": HORIZON, "recorded": runs}

    def draw(self, result: StoreRun) -> Picture:
        """Return a lane a worker, over the whole run: computing solid, waiting dotted, updates as diamonds."""
        scale = 1e-6 if result.horizon > 1e6 else 1e-3
        with figure(title=self._words(), figsize=(7.2, 1.1 + 0.42 * (result.workers + 1))) as (fig, axes):
            moments = {gradient.applied for gradient in result.gradients}
            applied = [scale * moment for moment in sorted(moments) if 0 < moment <= result.horizon]
            axes.plot(applied, [0] * len(applied), "D", color=ROLES["ps"].colour, markersize=3)
            for worker in range(result.workers):
                _lane(axes, result, worker, scale)
            letters = [f"● {_LETTERS[worker]}" for worker in range(result.workers)]
            axes.set_yticks(range(result.workers + 1), ["◆ updates", *letters])
            axes.set(xlim=(0, result.horizon * scale), xlabel=f"{'s' if scale < 1e-5 else 'ms'}, {self._source}")
            axes.invert_yaxis()
        return picture(fig, f"{self._words()}. {self._waits(result)}")

    @property
    def _source(self):
        return SIMULATED if self.run == SIMULATED else f"recorded: {self.run}"

    def _words(self):
        counts = self.result.counts()
        rate = 1e6 * counts.gradients / self.result.horizon
        late = counts.late / counts.gradients if counts.gradients else 0.0
        return f"{rate:,.1f} gradients a second, {late:.1f} updates late on average"

    def _waits(self, result):
        shares = [waited / result.horizon for waited in result.counts().waited]
        waits = ", ".join(f"worker {_LETTERS[worker]} {share:.0%}" for worker, share in enumerate(shares))
        return f"{self._source[:1].upper()}{self._source[1:]}. Waited, of its time: {waits}."


def _lane(axes, result, worker, scale):
    """Draw when a worker computed, waited and was killed."""
    row, own = worker + 1, [gradient for gradient in result.gradients if gradient.worker == worker]
    works = [(gradient.begins, gradient.ends) for gradient in own if gradient.begins < result.horizon]
    waits = [(gradient.arrives, gradient.freed) for gradient in own if NEVER != gradient.arrives < gradient.freed]
    computing, waiting = (
        strokes(((scale * begin, row), (scale * end, row)) for begin, end in pieces) for pieces in (works, waits)
    )
    axes.plot(*computing, color=worker_colour(worker), linewidth=11, solid_capstyle="butt")
    axes.plot(*waiting, ":", color=ROLES["waiting"].colour, linewidth=3)
    killed = [scale * at for at, action, target in result.faults if target == worker and action == "kill"]
    axes.plot(killed, [row] * len(killed), "x", color=ROLES["error"].colour, markersize=9)
