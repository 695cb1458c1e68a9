"""How soon an exhibit follows the hand: a control's handler to the page's DOM, and the kernel's answer in JupyterLab.

A page at 60 Hz has 16 ms for a frame. The kernel's answer is told without its engine, which is another topic's.
"""

import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from course import widgets
from course.cluster.tape.record import HERE, Bar, Mark, Move, Record

_FRAME, _ANSWER = 16, 60  # milliseconds
#: Those that the page computes by itself, or has stored answers of; each is made by its own entry of `_made`.
DRAWN = (
    *("RequestDots", "Continents", "RingAllReduce", "ParameterStore", "SliceMean", "PiDarts", "MatmulSlider"),
    *("StopwatchComparison", "RooflineExplorer", "PlacementExplorer", "CourseMap", "ClusterTimeline", "LifePlayer"),
    *("RegressionLab", "FailureLab"),
)
#: Those that ask the kernel for what is not stored; the others compute in the page, or train for seconds.
ASKED = ("SliceMean", "StopwatchComparison")
#: Moves each range and each choice to some places, thrice; gives the slowest place's best time: others' work only adds.
_MOVED = """() => {
  const picture = document.querySelector(".stage [role=application]"); // of a timeline: a key chooses a bar
  picture?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  const moving = document.querySelectorAll(".stage :is(input[type=range], select)");
  const controls = [...moving].filter((one) => one.offsetParent);
  let worst = [0, ""];
  for (const one of controls) {
    const [least, most] = one.tagName === "SELECT" ? [0, one.options.length - 1] : [+one.min, +one.max];
    const best = Array(12).fill(Infinity);
    for (let round = 0; round < 3; round++) {
      for (let place = 0; place < 12; place++) {
        const value = least + ((most - least) * place) / 11;
        const begun = performance.now();
        if (one.tagName === "SELECT") one.selectedIndex = Math.round(value);
        else one.value = value;
        one.dispatchEvent(new Event("input", { bubbles: true }));
        one.dispatchEvent(new Event("change", { bubbles: true }));
        document.body.getBoundingClientRect();
        best[place] = Math.min(best[place], performance.now() - begun);
      }
    }
    if (Math.max(...best) > worst[0]) worst = [Math.max(...best), one.className];
  }
  return worst;
}"""
#: Moves the first range of a stage, and waits for the kernel's answer to that setting; gives milliseconds of each move.
_ASKS = """async ([place, moves]) => {
  const stage = document.querySelectorAll(".jp-Notebook .stage")[place];
  const one = stage.querySelector(".sliders input[type=range]");
  const found = [];
  for (let move = 0; move < moves; move++) {
    const before = stage.dataset.shown;
    const wanted = +one.min + ((move % 2) + 1);
    const answered = new Promise((done) => {
      const look = new MutationObserver(() => {
        if (stage.dataset.shown === before || stage.classList.contains("old")) return;
        look.disconnect();
        done(performance.now());
      });
      look.observe(stage, { attributes: true });
    });
    one.value = wanted;
    const begun = performance.now();
    one.dispatchEvent(new Event("input", { bubbles: true }));
    one.dispatchEvent(new Event("change", { bubbles: true }));
    const end = await Promise.race([answered, new Promise((done) => setTimeout(done, 5000, NaN))]);
    found.push(end - begun);
    await new Promise((done) => setTimeout(done, 60));
  }
  return found;
}"""
_CELL = """
from course.widgets import {name}

class Kept({name}):
    kept = None

    def grid(self):
        return [{{}}]

    def engine(self, **settings):
        if self.kept is None:
            self.kept = super().engine(**settings)
        return self.kept

exhibit = Kept()
exhibit.wait()
exhibit
"""


def contests(quick, places):
    """Yield the time to the page for each exhibit that draws, and, if not `quick`, the kernel's for each that asks."""
    drawn = [_contest(_moved(name), _FRAME) for name in DRAWN]
    yield Together((Contestant("pages", f"{__name__}:pages", {}, OURS),), tuple(drawn), rounds=1 if quick else 2)
    if not quick:
        asked = [_contest(_answered(name), _ANSWER) for name in ASKED]
        work = Contestant("JupyterLab", f"{__name__}:answers", {"moves": 20}, OURS)
        yield Together((work,), tuple(asked), rounds=1)


def _contest(title, most):
    return Contest(title, "ms", (Contestant("the page", kind=OURS),), "less", targets=(Target("the page", most=most),))


def _moved(name):
    return f"{name}: a control's slowest move, to the DOM"


def _answered(name):
    return f"{name}: the kernel's answer, its engine apart"


def pages():
    """Show each exhibit in Chromium, without a kernel, and move what it has."""
    return Work(_all_moved, figures=True, warm_ups=0)


def _all_moved():
    from tests.browser.lab_page import HOW_TO_GET_IT, find_chromium, running_chromium

    if find_chromium() is None:
        raise RuntimeError(HOW_TO_GET_IT)
    with running_chromium() as browser:
        return {_moved(name): {"the page": _slowest(browser, name)} for name in DRAWN}


def _slowest(browser, name):
    """Return the milliseconds of the slowest move of any control of this exhibit."""
    with closing(_made(name)) as exhibit, closing(browser.new_page(viewport={"width": 900, "height": 900})) as page:
        page.set_content(f'<!doctype html><meta charset="utf-8">{exhibit._repr_mimebundle_()["text/html"]}')
        return page.evaluate(_MOVED)[0]


def _made(name):
    from tests.course.widgets.canned_labs import Canned, InTurns

    kind = {"RegressionLab": InTurns, "FailureLab": Canned}.get(name) or getattr(widgets, name)
    if name == "ClusterTimeline":
        return widgets.ClusterTimeline(_training())
    exhibit = kind()
    if hasattr(exhibit, "wait"):
        exhibit.wait()
    return exhibit


def _training(gradients=300):
    """Return a record as of a training of three workers: each gradient waits for the one before, and moves bytes."""
    lanes = [HERE, "/job:ps/task:0", *(f"/job:worker/task:{worker}" for worker in range(3))]
    bars = [Bar(2 + turn % 3, 0, 100 * turn, 250, 100 * turn, 0, turn) for turn in range(gradients)]
    edges = [(turn - 1, turn) for turn in range(1, gradients)]
    moves = [Move(bar.lane, 1, bar.stop, 20, 16) for bar in bars]
    marks = [Mark(1, bar.stop + 20, turn + 1) for turn, bar in enumerate(bars)]
    return Record(lanes, ["gradient"], bars, edges, moves, marks, [], bars[-1].stop + 20)


def answers(moves):
    """Open a notebook of the exhibits in JupyterLab, and move each; the engine's first result answers every time."""
    return Work(lambda: _in_lab(moves), figures=True, warm_ups=0)


def _in_lab(moves):
    import nbformat

    from tests.browser.lab_page import lab_page, running_chromium, running_lab

    cells = [nbformat.v4.new_code_cell(_CELL.format(name=name).strip()) for name in ASKED]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    with tempfile.TemporaryDirectory() as temporary, running_lab(Path(temporary)) as address:
        folder = Path(temporary)
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "notebooks" / "80_moves.ipynb")
        with running_chromium() as browser, lab_page(browser.new_context(), address, folder) as lab:
            lab.open("80_moves")
            lab.run_all("80_moves")
            live = "[...document.querySelectorAll('.jp-Notebook .stage')].every(e => e.dataset.live === 'kernel')"
            lab.until(live)
            found = [lab.page.evaluate(_ASKS, [place, moves]) for place in range(len(ASKED))]
    return {_answered(name): {"the page": median(times)} for name, times in zip(ASKED, found, strict=True)}
