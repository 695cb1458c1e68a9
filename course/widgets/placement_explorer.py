"""The placement explorer: drag ops between devices; see what moves, who waits, and how far it is from the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import traitlets

from course import draw
from course.devices import OpRecord
from course.devices.explore import CPU, DEVICES, PROGRAM, READ, Exploration, best, explore, figures, replay
from course.draw.picture import Picture
from course.units import in_words, short_bytes
from course.widgets.exhibits.exhibit import Exhibit, headline

WIDTHS = [64, 128, 256, 512, 1024, 2048]
MODELS = ["H200", "T4"]
_MAKES = tuple(step.makes for step in PROGRAM)


@dataclass(frozen=True)
class Placed:
    """What the chosen placement comes to, and what the best one there is."""

    run: Exploration
    best: Exploration

    @property
    def score(self) -> int:
        """Of 100: how long the best takes, in hundredths of the chosen one; 100 for none but the best."""
        return int(100 * self.best.seconds / self.run.seconds * (1 + 1e-12))


class PlacementExplorer(Exhibit):
    """A program of six ops, each on a device of your choice, on a modelled clock: nothing is measured.

    - `placement`: six of /cpu:0, /gpu:0, /gpu:1, for the ops that make `a`, `b`, `r`, `h`, `y` and `loss`, in this
      order. The inputs lie on the CPU, and the loss is read there. `move("h", "/gpu:0")` changes one.
    - `width`: the size of the square factors; `model`: the GPU that the clock follows.
    - `reveal`: the best placement is drawn too. `find_best()` chooses it, `run()` runs the chosen one.

    The page reckons by itself, and needs no kernel. `result` is a `Placed`.
    """

    module = "placement_explorer.js"
    styles = ("placement_explorer.css",)
    shared = ("axes.js", "controls.js", "placed.js")
    placement = traitlets.List(traitlets.Enum(DEVICES), [CPU] * len(PROGRAM)).tag(state=True)
    width = traitlets.Enum(WIDTHS, 1024).tag(state=True)
    model = traitlets.Enum(MODELS, "H200").tag(state=True)
    reveal = traitlets.Bool(False).tag(state=True)

    def __init__(self, placement: Sequence[str] | None = None, **state: object) -> None:
        super().__init__(**({} if placement is None else {"placement": list(placement)}), **state)

    @traitlets.validate("placement")
    def _legal(self, proposal):
        if len(proposal.value) != len(_MAKES):
            words = f"give {len(_MAKES)} devices, one for each of {', '.join(_MAKES)}"
            raise traitlets.TraitError(f"placement={proposal.value}: {words}.")
        return proposal.value

    def move(self, makes: str, device: str) -> "PlacementExplorer":
        """Put the op that makes the value `makes` on `device`; returns the explorer. Raises ValueError for no op."""
        if makes not in _MAKES:
            raise ValueError(f"move({makes!r}): the ops make {', '.join(_MAKES)}; name one of these values.")
        pairs = zip(_MAKES, self.placement, strict=True)
        return self.update(placement=[device if value == makes else current for value, current in pairs])

    def find_best(self) -> "PlacementExplorer":
        """Choose the placement that takes the least modelled time; returns the explorer."""
        return self.update(placement=list(self.result.best.placement))

    def run(self) -> Exploration:
        """Run the program as it is placed on simulated GPUs; the `Exploration` has its loss, too.

        Raises ValueError where fewer are active than it names.
        """
        return explore(self.placement, self.width, self.model)

    def engine(self, placement: Sequence[str], width: int, model: str, reveal: bool) -> Placed:
        """Return the `Placed` of these settings: one run of the clock, and once a size and model, one of each."""
        return Placed(replay(placement, width, model), best(width, model))

    def data(self) -> dict[str, Any]:
        """Return the program, and the figures of every size and model."""
        steps = [[step.makes, step.code, step.reads] for step in (*PROGRAM, READ)]
        by_model = {model: {width: figures(width, model) for width in WIDTHS} for model in MODELS}
        labels = {model: replay(self.placement, WIDTHS[0], model).label for model in MODELS}
        return {"steps": steps, "devices": DEVICES, "widths": WIDTHS, "figures": by_model, "labels": labels}

    def draw(self, result: Placed) -> Picture:
        """Return the modelled seconds in large, the graph of the ops, and below it who was busy when."""
        run = result.run
        words = in_words(run.seconds)
        verdict = self._verdict(result)
        timeline = draw.lanes(run.spans, [], _finding(run), run.label.replace("; ", "\n"))
        rows = [(m.value, m.reader, m.origin, m.target, m.nbytes) for m in run.moves]
        moves = draw.table(["value", "for", "from", "to", "bytes"], rows, _in_words(run))
        alt = f"{words} modelled, n = {self.width}. {verdict} {_in_words(run)} Seconds are {run.label}."
        body = (
            f"{headline(words, f'modelled; score {result.score} of 100')}"
            f'<p class="note">{escape(verdict)}</p>'
            f"{_ops(run).html}{timeline.html}"
            f"<details><summary>{escape(_in_words(run))}</summary>{moves.html}</details>"
        )
        return draw.html(body, alt)

    def _verdict(self, result):
        ratio = result.run.seconds / result.best.seconds
        if ratio <= 1 + 1e-9:
            return "No placement takes less."
        times = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
        verdict = f"{times} times as long as the best placement."
        if not self.reveal:
            return verdict
        pairs = list(zip(_MAKES, result.best.placement, strict=True))
        on = {device: [makes for makes, where in pairs if where == device] for device in DEVICES}
        where = "; ".join(f"{', '.join(makes)} on {device}" for device, makes in on.items() if makes)
        return f"{verdict} The best: {where}."


def _finding(run):
    """Return the title of the timeline: what the modelled time went into most."""
    if not run.moves:
        return "Nothing moves: the CPU works alone"
    copying, waiting = (  # a copy between two GPUs is a span of each
        sum(stop - start for start, stop in {(span.start, span.stop) for span in run.spans if span.what == kind})
        for kind in ("copy", "wait")
    )
    return f"Copies take {copying / run.seconds:.0%} of the time; the host waits {waiting / run.seconds:.0%} of it"


def _in_words(run):
    if not run.moves:
        return "Nothing moves."
    values = ", ".join(f"{move.value} to {move.target}" for move in run.moves)
    return f"{len(run.moves)} moves, {short_bytes(run.bytes_moved)}: {values}."


def _ops(run):
    """Return the picture of the program's ops and copies; a line joins what made a value to what reads it."""
    records, joined, maker = [], [], {}
    for step, device in zip((*PROGRAM, READ), (*run.placement, CPU), strict=True):
        sources = {name: maker[name] for name in step.reads if name in maker}
        for move in (move for move in run.moves if move.reader == step.makes):
            if move.value in sources:
                joined.append((sources[move.value], len(records)))
            sources[move.value] = len(records)
            copied = {"bytes_moved": move.nbytes, "origin": move.origin, "simulated": True}
            records.append(OpRecord(f"copy {move.value}", move.target, (), "float32", **copied))
        joined += [(source, len(records)) for source in sources.values()]
        maker[step.makes] = len(records)
        records.append(OpRecord(step.code, device, (), "float32", simulated=True))
    return draw.ops(records, f"{len(PROGRAM)} ops, {len(run.moves)} copies between devices", joined)
