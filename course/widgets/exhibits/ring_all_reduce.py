"""`RingAllReduce`: ranks in a circle add up their gradients piece by piece, beside a server that adds up the same."""

from collections.abc import Sequence
from typing import Any

import traitlets

from course.draw import ROLES, Picture, figure, picture, worker_colour
from course.draw.colours import bar_style
from course.scale.all_reduce import AllReduce
from course.units import in_words, short
from course.widgets.exhibits.exhibit import Exhibit

SOURCE = (
    "Simulated. A message is there when its bytes have passed the link, and the latency is over. A link carries one "
    "message after another in each direction; adding up costs nothing."
)
_STOPS: dict[str, Sequence[float]] = {
    "ranks": list(range(2, 13)),
    "size": [1_000, 10_000, 100_000, 318_040, 3_180_040, 100_000_000, 1_000_000_000],
    "gigabits": [0.1, 1.0, 10.0, 100.0, 400.0],
    "latency": [1, 10, 100, 1_000, 10_000, 100_000],
}
_BYTES_A_GIGABIT = 1.25e8


class RingAllReduce(Exhibit):
    """Play or step through an all-reduce in a ring, and through a parameter server's on the same links and clock.

    - `ranks`: 2 to 12. `size`: bytes of each rank's vector, 1 kB to 1 GB. `gigabits`: Gbit/s of each link, 0.1 to 400.
      `latency`: µs of a message, 1 to 100,000.
    - `step`: the moment shown, after so many of the ring's 2·(`ranks` − 1) steps. `follow`: the piece that is marked,
      1 to `ranks`; 0 for none.

    `result` is a `course.scale.all_reduce.AllReduce`. The page simulates by itself; nothing runs in a kernel.
    """

    module = "ring_all_reduce.js"
    shared = ("axes.js", "controls.js", "scrubber.js", "all_reduce.js")
    styles = ("ring_all_reduce.css",)
    ranks = traitlets.Int(4, min=2, max=12).tag(state=True)
    size = traitlets.Int(318_040, min=1_000, max=1_000_000_000).tag(state=True)
    gigabits = traitlets.Float(1.0, min=0.1, max=400).tag(state=True)
    latency = traitlets.Int(100, min=1, max=100_000).tag(state=True)
    step = traitlets.Int(0, min=0).tag(state=True)
    follow = traitlets.Int(0, min=0).tag(state=True)

    @traitlets.validate("step", "follow")
    def _legal(self, proposal):
        name, most = proposal.trait.name, {"step": 2 * (self.ranks - 1), "follow": self.ranks}
        if proposal.value > most[name]:
            raise traitlets.TraitError(
                f"RingAllReduce({name}={proposal.value}): with {self.ranks} ranks give 0 to {most[name]}."
            )
        return proposal.value

    @traitlets.observe("ranks")
    def _fit(self, change):
        self.step = min(self.step, 2 * (self.ranks - 1))
        self.follow = self.follow if self.follow <= self.ranks else 0

    def engine(self, ranks: int, size: int, gigabits: float, latency: int, step: int, follow: int) -> AllReduce:
        """Return the `AllReduce` of these settings; `step` and `follow` change only what is shown of it."""
        return AllReduce(ranks, size, gigabits * _BYTES_A_GIGABIT, latency / 1e6)

    def data(self) -> dict[str, Any]:
        """Return the sliders' stops, with the present values, and what the simulation leaves out."""
        stops = {name: sorted({*stops, getattr(self, name)}) for name, stops in _STOPS.items()}
        return {"stops": stops, "views": ["step", "follow"], "source": SOURCE}

    def draw(self, result: AllReduce) -> Picture:
        """Return what the ranks hold at the start, half way and at the end, and both times as bars."""
        middle = result.ranks - 1
        with figure(title=self._words(), figsize=(7.2, 4.6), nrows=2, height_ratios=(3, 1)) as (fig, (held, bars)):
            for row, step in enumerate((0, middle, result.steps)):
                _held(held, result, row, step)
            _frame(held, result)
            times = [("● ring", "worker", result.ring_seconds), ("◆ server", "ps", result.server_seconds)]
            for row, (_, role, seconds) in enumerate(times):
                bars.barh(row, seconds * 1e3, height=0.6, **bar_style(role, real=False))
                bars.annotate(in_words(seconds), (seconds * 1e3, row), (5, 0), textcoords="offset points", va="center")
            bars.set_yticks([0, 1], [name for name, *_ in times])
            bars.set(xlim=(0, 1.2e3 * max(seconds for *_, seconds in times)), xlabel="milliseconds, simulated")
            bars.invert_yaxis()
        alt = (
            f"{self._words()}, for {short(result.nbytes)}B on links of {self.gigabits:g} Gbit/s and "
            f"{in_words(result.latency)} latency. In the ring each of {result.ranks} ranks sends {short(result.sent)}B "
            f"in {result.steps} steps: after {middle} each has one finished piece, at the end all. The server's link "
            f"carries {short(result.through_server)}B. {SOURCE}"
        )
        return picture(fig, alt)

    def _words(self):
        ring, server = self.result.ring_seconds, self.result.server_seconds
        return f"Simulated: {self.ranks} ranks in a ring {in_words(ring)}, with a server {in_words(server)}"


def _held(axes, result, row, step):
    """Draw what each rank holds after `step` steps: a line a piece, a column a rank whose gradients are in it."""
    ranks = result.ranks
    for rank, pieces in enumerate(result.pieces(step)):
        for of in range(ranks):
            filled = [piece for piece, held in enumerate(pieces) if held >> of & 1]
            x = rank * (ranks + 1) + of
            bottoms = [-row * (ranks + 1) - piece - 1 for piece in filled]
            axes.bar([x] * len(filled), 0.9, 0.9, bottoms, align="edge", color=worker_colour(of), linewidth=0)
        edges = {"fill": False, "edgecolor": ROLES["bytes"].colour, "linewidth": 0.8}
        axes.bar(rank * (ranks + 1), ranks, ranks, -row * (ranks + 1) - ranks, align="edge", **edges)


def _frame(axes, result):
    """Name the ranks above, and the moments at the left."""
    ranks, letters = result.ranks, "ABCDEFGHIJKL"
    axes.set_xticks(
        [rank * (ranks + 1) + ranks / 2 for rank in range(ranks)], [f"● {letters[r]}" for r in range(ranks)]
    )
    moments = ["start", f"step {ranks - 1}", f"step {result.steps}"]
    axes.set_yticks([-row * (ranks + 1) - ranks / 2 for row in range(3)], moments)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
