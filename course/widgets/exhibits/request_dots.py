"""`RequestDots`: requests as dots that come, wait, are computed in batches and answered, at a simulated server."""

from collections.abc import Iterable
from typing import Any

import traitlets

from course.draw import ROLES, Picture, figure, picture
from course.scale.waiting import Outcome, SimulatedServer, arrivals, stand_in_line
from course.widgets.exhibits.exhibit import Exhibit

#: A batch of the heavy network of chapter 08, in milliseconds: whatever is in it, and each image more.
FIRST, MORE = 2.1, 0.23
RECORDED = "recorded of chapter 08's heavy network on 2 cores of an AMD EPYC, 2026-11-22"
_SECONDS, _SEED = 10, 8
_STOPS: dict[str, list] = {
    "rate": [50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 1000, 1200, 1500, 2000, 2500, 3000],
    "largest": [1, 2, 4, 8, 16, 32, 64],
    "queue": [4, 8, 16, 32, 64, 128, 256, 1024],
    "deadline": [10, 20, 50, 100, 200, 500, None],
}


class RequestDots(Exhibit):
    """Ten simulated seconds at one worker; sliders for arrivals, batches, the queue and how long callers wait.

    - `rate`: requests a second on average, each whenever its sender likes (seeded); `largest`: of a batch; `queue`: how
      many may wait, one more gets 429; `deadline`: milliseconds after which a caller leaves (None: never).
    - `first`, `more`: milliseconds of a batch, and of each request in it; `label`: where these figures are from.

    The page simulates; nothing runs in a kernel, and none is needed. `result` has the same numbers in Python, and
    setting `rate` and the others moves the sliders. Raises ValueError for settings that no server has.
    """

    module = "request_dots.js"
    styles = ("request_dots.css",)
    shared = ("chance.js", "controls.js", "scrubber.js")
    rate = traitlets.Int(300).tag(state=True)
    largest = traitlets.Int(1).tag(state=True)
    queue = traitlets.Int(64).tag(state=True)
    deadline = traitlets.Int(None, allow_none=True).tag(state=True)

    def __init__(self, *, first: float = FIRST, more: float = MORE, label: str = RECORDED, **state: object) -> None:
        self._first, self._more, self.label = round(1e3 * first), round(1e3 * more), label
        super().__init__(**state)

    def engine(self, rate: int, largest: int, queue: int, deadline: int | None) -> Outcome:
        """Return the `Outcome` of these settings."""
        micro = None if deadline is None else 1000 * deadline
        return stand_in_line(
            arrivals(rate, _SECONDS, _SEED), SimulatedServer(self._first, self._more, largest, queue, micro)
        )

    @property
    def outcome(self) -> Outcome:
        """The `Outcome` of the present settings."""
        return self.result

    def data(self) -> dict[str, Any]:
        """Return the sliders' stops, and a batch's microseconds."""
        stops = {name: _with(values, self.state()[name]) for name, values in _STOPS.items()}
        times = {"first": self._first, "more": self._more, "seconds": _SECONDS, "seed": _SEED}
        return {"stops": stops, "label": self.label, **times}

    def draw(self, result: Outcome) -> Picture:
        """Return a picture of the moment at which most requests wait."""
        out, fullest = result, result.fullest
        waiting, inside = len(out.waiting(fullest)), len(out.at_work(fullest))
        with figure(title=self._words(), figsize=(7.2, 1.7)) as (fig, axes):
            _dots(axes, 7.4, min(waiting, 96), "waiting")
            _dots(axes, 9.6, min(inside, 64), "cpu")
            axes.set(xlim=(-0.2, 10), ylim=(-1.6, 4.4))
            axes.text(0, 3.7, f"queue: {waiting} wait")
            axes.text(8, 3.7, f"worker: {inside}")
            axes.text(0, -1.4, f"simulated second {fullest / 1e6:.3f}, when most are waiting")
            axes.set_axis_off()
        return picture(
            fig, f"{self._words()}. At second {fullest / 1e6:.3f} {waiting} wait, {inside} are in the worker."
        )

    def _words(self):
        out = self.outcome
        came, answered, within = len(out.arrives) + len(out.refused), len(out.stays), out.within(99)
        if within is None:
            return f"Simulated: none of {came:,} requests is answered"
        times = f"99 of 100 within {within / 1e3:.1f} ms"
        if answered >= 0.99 * came:
            return f"Simulated: {times}; {answered:,} of {came:,} requests answered"
        return f"Simulated: {answered / came:.1%} of {came:,} requests answered; of those {times}"


def _with(stops: Iterable, value: object) -> list:
    """Return the sorted `stops` with `value` among them; None is the last."""
    return sorted({*stops, value}, key=lambda stop: float("inf") if stop is None else stop)


def _dots(axes, right, count, role):
    """Draw `count` dots in columns of four that grow to the left, the first at `right`."""
    across = [right - 0.28 * (place // 4) for place in range(count)]
    axes.plot(across, [2.6 - place % 4 for place in range(count)], "o", color=ROLES[role].colour, markersize=5)
