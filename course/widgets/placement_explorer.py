"""The placement explorer: choose each op's device, see what moves, who waits, and how far it is from the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import ipywidgets
import traitlets

from course import draw
from course.devices.explore import CPU, DEVICES, PROGRAM, READ, Exploration, best, explore, gpus_here
from course.draw.graph import Edge, Node, graph
from course.draw.picture import Picture
from course.units import in_words, short_bytes
from course.widgets.exhibits.exhibit import headline
from course.widgets.explorer import Explorer

WIDTHS = [64, 128, 256, 512, 1024, 2048]
MODELS = ["H200", "T4"]


@dataclass(frozen=True)
class Placed:
    """The run of the chosen placement and the best one there is; `gpus` is how many GPUs there are to choose from."""

    run: Exploration
    best: Exploration
    gpus: int


class PlacementExplorer(Explorer):
    """A program of six ops, each on a device of your choice; it runs on simulated GPUs, whose seconds are modelled.

    `a`, `b`, `r`, `h`, `y` and `loss` are the devices of the ops that make these values, `placement` all six at once;
    `width` is the size of the square factors, `model` the GPU that the clock follows. The loss is read on the CPU,
    where the inputs lie. `find_best()` chooses the placement that takes least. `result` is a `Placed`.
    """

    a, b, r, h, y, loss = (traitlets.Enum(DEVICES, CPU).tag(state=True) for _ in PROGRAM)
    width = traitlets.Enum(WIDTHS, 1024).tag(state=True)
    model = traitlets.Enum(MODELS, "H200").tag(state=True)

    def __init__(self, placement: Sequence[str] | None = None, **state: object) -> None:
        """Show `placement`, six names of devices (by default all on the CPU), and the other `state`."""
        self._found: dict[tuple, Exploration] = {}  # (width, model, gpus) -> the best `Exploration`
        self._several = False  # several traits are being set: one run at the end of them
        super().__init__(**dict(zip(_MAKES, placement or (), strict=False)), **state)

    @property
    def placement(self) -> tuple[str, ...]:
        """The six devices, in the order of the ops; set it to change them together."""
        return tuple(getattr(self, name) for name in _MAKES)

    @placement.setter
    def placement(self, devices: Sequence[str]) -> None:
        if len(devices) != len(_MAKES):
            raise ValueError(f"placement={devices!r}: give {len(_MAKES)} devices, one for each of {', '.join(_MAKES)}.")
        self._several = True
        try:
            for name, device in zip(_MAKES, devices, strict=True):
                setattr(self, name, device)
        finally:
            self._several = False
            self.refresh()

    def find_best(self) -> "PlacementExplorer":
        """Choose the placement that takes the least modelled time; returns the explorer."""
        self.placement = self._best().placement
        return self

    def controls(self) -> list[ipywidgets.Widget]:
        """Return a device for each op, three placements to begin from, size and model."""
        places = [self.choice(step.makes, DEVICES, f"{step.makes} = {step.code}") for step in PROGRAM]
        for place in places:
            place.style.description_width, place.layout.width = "110px", "220px"
        starts = [
            self.button("All on /cpu:0", lambda: setattr(self, "placement", [CPU] * len(_MAKES))),
            self.button("All on /gpu:0", lambda: setattr(self, "placement", ["/gpu:0"] * len(_MAKES))),
            self.button("Best placement", self.find_best),
        ]
        size = self.choice("width", WIDTHS, "size n", ipywidgets.SelectionSlider, continuous_update=False)
        model = self.choice("model", MODELS, "GPU model", layout={"width": "180px"})
        wrap = {"flex_flow": "row wrap", "grid_gap": "0 12px"}
        return [ipywidgets.Box(places, layout=wrap), ipywidgets.Box([*starts, size, model], layout=wrap)]

    def refresh(self) -> None:
        """Run and draw the present placement; not between the parts of a change of several."""
        if not self._several:
            super().refresh()

    def compute(self) -> Placed:
        """Return the `Placed` of the present state: one run on simulated GPUs, one look at all placements."""
        return Placed(explore(self.placement, self.width, self.model), self._best(), gpus_here())

    def draw(self, result: Placed) -> Picture:
        """Return the modelled seconds in large, the graph of the ops, and below it who was busy when."""
        run = result.run
        words = in_words(run.seconds)
        verdict = _verdict(run, result.best)
        timeline = draw.lanes(run.spans, [], _finding(run), run.label.replace("; ", "\n"))
        rows = [(m.value, m.reader, m.origin, m.target, m.nbytes) for m in run.moves]
        moves = draw.table(["value", "for", "from", "to", "bytes"], rows, _in_words(run))
        alt = f"{words} modelled, n = {self.width}. {verdict} {_in_words(run)} Seconds are {run.label}."
        body = (
            f"{headline(words, 'modelled')}"
            f'<p class="note">{escape(verdict)}</p>'
            f"{_graph(run, DEVICES[: result.gpus + 1]).html}{timeline.html}"
            f"<details><summary>{escape(_in_words(run))}</summary>{moves.html}</details>"
            f'<p class="note">The loss is {run.loss:.6f}, wherever the ops run.</p>'
        )
        return draw.html(body, alt)

    def _best(self):
        key = self.width, self.model, gpus_here()
        if key not in self._found:
            self._found[key] = best(*key)
        return self._found[key]


_MAKES = tuple(step.makes for step in PROGRAM)


def _verdict(run, quickest):
    more, ratio = run.seconds - quickest.seconds, run.seconds / quickest.seconds
    if ratio <= 1 + 1e-9:
        return "No placement takes less."
    on = {device: [m for m, d in zip(_MAKES, quickest.placement, strict=True) if d == device] for device in DEVICES}
    where = "; ".join(f"{', '.join(makes)} on {device}" for device, makes in on.items() if makes)
    times = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    return f"{in_words(more)} more than the best placement, {times} times as long. The best: {where}."


def _finding(run):
    """Return the title of the timeline: what the modelled time went into most."""
    if not run.moves:
        return "Nothing moves: the CPU works alone"
    copying, waiting = (
        sum(span.stop - span.start for span in run.spans if span.what == what) for what in ("copy", "wait")
    )
    return f"Copies take {copying / run.seconds:.0%} of the time; the host waits {waiting / run.seconds:.0%} of it"


def _in_words(run):
    if not run.moves:
        return "Nothing moves."
    values = ", ".join(f"{move.value} to {move.target}" for move in run.moves)
    return f"{len(run.moves)} moves, {short_bytes(run.bytes_moved)}: {values}."


def _graph(run, devices):
    where = dict(zip(_MAKES, run.placement, strict=True))
    steps = [*PROGRAM, READ]
    moved = {(move.value, move.reader): move.nbytes for move in run.moves}
    nodes, edges = [], []
    for column, step in enumerate(steps):
        for name in step.reads:
            if name not in {node.name for node in nodes}:
                nodes.append(Node(name, name, CPU, column, given=True))
            edges.append(Edge(name, step.makes, moved.get((name, step.makes), 0)))
        nodes.append(Node(step.makes, step.code, where.get(step.makes, CPU), column))
    placed = ", ".join(f"{step.code} on {where[step.makes]}" for step in PROGRAM)
    return graph(nodes, edges, devices, f"The program as a graph: {placed}.")
