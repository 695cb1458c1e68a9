"""`Continents`: the timeline of a training whose server and workers are on several continents."""

from collections.abc import Sequence
from typing import Any

import traitlets

from course.draw import ROLES, Picture, figure, picture, worker_colour
from course.scale.continents import SERVER, UPDATE, Timeline, continents
from course.scale.region_delays import PLACES, ROUND_TRIPS
from course.widgets.exhibits.exhibit import Exhibit

SOURCE = (
    "Simulated, with round trips between data centres as pings took them on average in April 2017: Virginia to "
    "Frankfurt 89 ms, to Tokyo 145 ms, to São Paulo 120 ms, to Sydney 230 ms; within one place 1 ms. A message takes "
    "half of that. A server applies a gradient in 1 ms."
)
_HORIZON = 20_000_000
_STOPS = {"compute": [10, 20, 50, 100, 200, 500, 1000], "wire": [0, 5, 25, 100, 400]}
_LETTERS = "ABCDEF"


class Continents(Exhibit):
    """Twenty simulated seconds of a training; choose how gradients are averaged, and where everybody is.

    - `design`: "asynchronous", "synchronous" or "ring"; `workers`: up to six places, `server`: one; see
      `course.scale.continents.PLACES`. `compute`, `wire`: milliseconds that a gradient takes, and its way by a line.

    The page simulates; nothing runs in a kernel, and none is needed. `timeline` has the same in Python, and setting
    `design` and the others moves the page. Raises ValueError for another design or place, or a setting that is no stop
    of its slider.
    """

    module = "continents.js"
    styles = ("continents.css",)
    design = traitlets.Unicode("asynchronous").tag(state=True)
    workers = traitlets.List(traitlets.Unicode(), ["Virginia", "Frankfurt", "Tokyo"]).tag(state=True)
    server = traitlets.Unicode("Virginia").tag(state=True)
    compute = traitlets.Int(100).tag(state=True)
    wire = traitlets.Int(0).tag(state=True)

    def __init__(self, design: str = "asynchronous", workers: Sequence[str] | None = None, **state: object) -> None:
        places = {} if workers is None else {"workers": list(workers)}
        super().__init__(design=design, **places, **state)

    def engine(self, design: str, workers: Sequence[str], server: str, compute: int, wire: int) -> Timeline:
        """Return the `Timeline` of these settings."""
        for name, value in (("compute", compute), ("wire", wire)):
            if value not in _STOPS[name]:
                raise ValueError(f"Continents({name}={value}): use one of {', '.join(map(str, _STOPS[name]))} ms.")
        if len(workers) > len(_LETTERS):
            raise ValueError(f"Continents(workers): {len(workers)} places; 1 to {len(_LETTERS)} can be told apart.")
        return continents(design, workers, server, 1000 * compute, 1000 * wire, _HORIZON)

    @property
    def timeline(self) -> Timeline:
        """The `Timeline` of the present settings."""
        return self.result

    def data(self) -> dict[str, Any]:
        """Return the places, the times between them, and the sliders' stops."""
        trips = {f"{place} {other}": ROUND_TRIPS.get((place, other)) for place in PLACES for other in PLACES}
        trips |= {f"{place} {place}": ROUND_TRIPS["Virginia", "Virginia"] for place in PLACES}
        data = {"stops": _STOPS, "places": PLACES, "horizon": _HORIZON, "update": UPDATE, "source": SOURCE}
        return {**data, "roundTrips": {pair: trip for pair, trip in trips.items() if trip is not None}}

    def draw(self, result: Timeline) -> Picture:
        """Return a picture of the beginning."""
        window = max(1_000_000, 6000 * self.compute)
        lanes = [*([] if self.design == "ring" else [SERVER]), *range(result.workers)]
        names = [f"◆ server, {self.server}" if process == SERVER else self._name(process) for process in lanes]
        with figure(title=self._words(), figsize=(7.2, 0.9 + 0.55 * len(lanes))) as (fig, axes):
            for turn in (turn for turn in result.computing if turn.begins < window):
                seconds = (turn.ends - turn.begins) / 1e6
                look = {"facecolor": (worker_colour(turn.worker), 0.35), "edgecolor": worker_colour(turn.worker)}
                axes.barh(lanes.index(turn.worker), seconds, 0.4, turn.begins / 1e6, linestyle="--", **look)
            for message in (message for message in result.messages if message.sent < window):
                rows = lanes.index(message.source), lanes.index(message.target)
                axes.plot((message.sent / 1e6, message.arrives / 1e6), rows, color=ROLES["bytes"].colour, linewidth=0.8)
            updates = [(moment / 1e6, worker) for moment, worker, _ in result.updates if moment < window]
            heights = [0 if SERVER in lanes else lanes.index(worker) for _, worker in updates]
            axes.plot([second for second, _ in updates], heights, "D", color=ROLES["ps"].colour, markersize=4)
            axes.set(xlim=(0, window / 1e6), xlabel="simulated seconds")
            axes.set_yticks(range(len(lanes)), names)
            axes.invert_yaxis()
        waits = [f"{self._name(worker)}: waits {result.waits(worker):.0%}" for worker in range(result.workers)]
        return picture(fig, f"{self._words()}. {'; '.join(waits)}.")

    def _name(self, worker):
        return f"● worker {_LETTERS[worker]}, {self.workers[worker]}"

    def _words(self):
        return f"Simulated, {self.design}: {self.timeline.rate:.1f} gradients a second"
