"""Every exhibit and every bet once, as a chapter shows it: the same in every run, as nothing of it is measured here."""

import numpy
import torch

from course import draw, life
from course.cluster.tape.tape import Tape
from course.traces import load_trace
from course.training.records import Step
from course.widgets import (
    ClusterTimeline,
    Continents,
    CourseMap,
    Dashboard,
    DigitPad,
    LifePlayer,
    MatmulSlider,
    ParameterStore,
    PiDarts,
    PlacementExplorer,
    Predict,
    RequestDots,
    RingAllReduce,
    RooflineExplorer,
    Scorecard,
    SliceMean,
    StopwatchComparison,
)
from course.widgets.matmul_slider import Duel
from tests.course.widgets.canned_labs import Canned, InTurns


class Recorded(MatmulSlider):
    """One that measures nothing."""

    def engine(self, size, gpu):
        """Return what is recorded."""
        return Duel(load_trace("epyc-2-cores").at(size), load_trace(f"{gpu}-data-sheet").matmul(size))


class StoredDigits(DigitPad):
    """A pad that has asked its server once, which said that everything is a 1."""

    def ask(self, images):
        """Return the answer of version 2."""
        return numpy.tile([0.02, 0.82, *[0.02] * 8], (len(images), 1)), 2


def pad():
    """Return a pad before a server's model, with two stored digits."""
    images = numpy.zeros((2, 28, 28))
    images[:, 4:24, 13:15] = 1
    return StoredDigits("http://127.0.0.1:9", images, [1, 1])


def networks():
    """Return a pad with two replicas that say the same, and one that takes the second stored digit for a 2."""

    def of(digits):
        return lambda images: 9.0 * numpy.eye(10)[[digits[int(image.sum() > 30)] for image in images]]

    images = numpy.zeros((2, 28, 28))
    images[0, 4:24, 14], images[1, 4:24, 10:18] = 1, 1
    named = {"all-reduce, rank 0": of([1, 7]), "all-reduce, rank 1": of([1, 7]), "asynchronous": of([1, 2])}
    return DigitPad(named, images, [1, 7])


def watched():
    """Return the dashboard of a training that has ended after two seconds."""
    dashboard = Dashboard()
    watch = dashboard.watch
    for at in range(400):
        late = min(at, (at * 7) % 4)
        watch._steps.append(
            Step(at + 1, at % 3, at - late, 5 * 0.99**at + 0.1, 0.005 * at, 0.005 * at + 0.001 * (at % 3))
        )
        watch.staleness[late] += 1
    watch.step = watch.limit = 400
    watch.seconds, watch.mode, watch.ended = 2.0, "async", True
    return dashboard


def bets(chapter="01"):
    """Return kind -> a bet without a guess; the page keeps guesses by their chapter's two digits."""
    bars = {
        name: draw.html(
            f"<svg width='80' height='20'><rect width='{wide}' height='9' fill='currentColor'/></svg>", name
        )
        for name, wide in (("short", 18), ("long", 80))
    }
    asked = "How many gradients a second?"
    return {
        "number": Predict("How many of the six run on the GPU?", 0, 6, unit="ops", name=f"{chapter} gallery six"),
        "log axis": Predict(
            "From which n on is the GPU quicker?", 10, 10_000, log=True, name=f"{chapter} gallery size"
        ),
        "choice": Predict("Where is the gradient?", choices=["cpu", "cuda:0", "both"], name=f"{chapter} gallery where"),
        "pictures": Predict("Which bar is the GPU's?", choices=bars, name=f"{chapter} gallery bars"),
        "several": Predict(
            "How many times?", 0.1, 100, log=True, unit="×", each=["one", "two"], name=f"{chapter} gallery rungs"
        ),
        "line": Predict(
            asked, 10, 10_000, log=True, over=[1, 4, 16, 100], across="workers", name=f"{chapter} gallery curve"
        ),
    }


MEASURED = {"number": 3, "log axis": 192, "choice": "cpu", "pictures": "long", "several": [16, 0.5]}
MEASURED["line"] = [20, 40, 80, 160]
GUESSED = {"number": 6, "log axis": 2000, "choice": "both", "pictures": "short", "several": [20, 1]}
GUESSED["line"] = [30, 100, 300, 900]


def answered(kind):
    """Return the bet of this kind with a guess, and its answer."""
    bet = bets("02")[kind].commit(GUESSED[kind])
    return [bet, bet.reveal(MEASURED[kind], "One sentence says why it is so.", shows="what the cell printed")]


def card():
    """Return a card of three bets, of which the last has no guess."""
    made = [answered(kind)[0] for kind in ("number", "choice")] + [bets("02")["several"]]
    return [Scorecard(*made, challenge="Beat 7.27×.")]


def film():
    """Return a film of a glider."""
    board = torch.zeros((8, 12), dtype=torch.uint8)
    board[1, 2] = board[2, 3] = board[3, 1] = board[3, 2] = board[3, 3] = 1
    frames = [board]
    for _ in range(8):
        frames.append(life.step(frames[-1]))
    return draw.film([frame.numpy() for frame in frames])


EXHIBITS = {
    "course_map": CourseMap,
    "placement": lambda: PlacementExplorer(["/gpu:0", "/gpu:1", "/gpu:1", *["/gpu:0"] * 3], model="T4", reveal=True),
    "stopwatches": StopwatchComparison,
    "matmul": lambda: Recorded().wait(),
    "roofline": lambda: RooflineExplorer().wait(),
    "life": LifePlayer,
    "film": film,
    "slices": lambda: SliceMean(cut=16, killed="A"),
    "timeline": lambda: ClusterTimeline(Tape.stored("mean").record),
    "darts": lambda: PiDarts(samples=20_000, seed=3, servers=4).wait(),
    "store": ParameterStore,
    "dashboard": watched,
    "regression": lambda: InTurns(steps=600).wait(),
    "failure": lambda: Canned(seconds=9).wait(),
    "ring": lambda: RingAllReduce(ranks=12, step=5, follow=2),
    "networks": networks,
    "pad": pad,
    "dots": RequestDots,
    "continents": Continents,
}
#: name -> a function that makes a list of what stands one below the other.
GALLERY = {name: (lambda make=make: [make()]) for name, make in EXHIBITS.items()}
GALLERY |= {
    "bets": lambda: [*bets().values()],
    "answers": lambda: [part for kind in MEASURED for part in answered(kind)],
    "scorecard": card,
}
