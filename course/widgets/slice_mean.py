"""Where you cut decides whether two means may be averaged, and who waits: move the cut, kill a task."""

from math import isnan
from typing import Any

import traitlets

from course import draw
from course.draw.picture import Picture
from course.mapreduce import dealt, mean, part_sum, slices
from course.widgets.exhibits.exhibit import Exhibit

#: Sixteen quick answers and four slow ones, in seconds: where the values differ, the weights show.
_SECONDS = [1.2, 0.8, 1.1, 0.9, 1.0, 1.3, 0.7, 1.0, 1.1, 0.9, 1.2, 0.8, 1.0, 1.0, 0.9, 1.1, 6.1, 5.8, 6.3, 5.8]
_KILLED = {"none": None, "A": 0, "B": 1}


class SliceMean(Exhibit):
    """Cuts `values` in two slices before position `cut`; shows both means, their average and the weighted mean.

    Each slice is a task's, which takes a simulated second a number; `killed`, "A" or "B", dies half way.
    `values`: 1 to 1,000 finite numbers; `cut`: 0 to their number. `result` is a `draw.SliceMeans`.
    """

    module = "slice_mean.js"
    styles = ("slice_mean.css",)
    values = traitlets.List(traitlets.Float(), _SECONDS, minlen=1, maxlen=1000).tag(state=True)
    cut = traitlets.Int(10, min=0).tag(state=True)
    killed = traitlets.Enum(list(_KILLED), "none").tag(state=True)

    @traitlets.validate("cut")
    def _legal_cut(self, proposal):
        if proposal.value > len(self.values):
            raise traitlets.TraitError(f"SliceMean(cut={proposal.value}): give 0 to {len(self.values)}.")
        return proposal.value

    @traitlets.observe("values")
    def _fit(self, change):
        if self.cut > len(self.values):
            self.cut = len(self.values)

    def engine(self, values: list[float], cut: int, killed: str) -> draw.SliceMeans:
        """Return the two slices' means and both ways to join them; a killed task changes only who waits."""
        sizes = [cut, len(values) - cut]
        means = [part_sum(part).mean for part in slices(values, sizes)]
        return draw.SliceMeans(tuple(values), tuple(sizes), tuple(means), mean(values, sizes))

    def grid(self) -> list[dict[str, Any]]:
        """Return every cut."""
        return [{"cut": cut} for cut in range(len(self.values) + 1)]

    def data(self) -> dict[str, Any]:
        """Return that `killed` changes only what is shown of an answer."""
        return {"views": ["killed"]}

    def answer(self, result: draw.SliceMeans) -> dict[str, Any]:
        """Return the headline, the means as numbers, null for that of an empty slice, and who works when."""
        means = [None if isnan(mean) else mean for mean in result.means]
        figure = f"{result.weighted:.4g}" if result.agree else f"{result.naive:.4g} is not {result.weighted:.4g}"
        return {
            "figure": "no average" if isnan(result.naive) else figure,
            "small": result.finding,
            "means": means,
            "averaged": None if isnan(result.naive) else result.naive,
            "weighted": result.weighted,
            "spans": {name: [list(span) for span in dealt(result.sizes, killed)] for name, killed in _KILLED.items()},
        }

    def draw(self, result: draw.SliceMeans) -> Picture:
        """Return the slices as bars with both levels across them, and who waits in words."""
        spans = dealt(result.sizes, _KILLED[self.killed])
        join = max(span.stop for span in spans)
        dies = "" if self.killed == "none" else f" Task {self.killed} is killed half way, and its slice begins anew."
        words = f"Simulated, a second a number: the join begins after {join:g} s.{dies}"
        shown = draw.slice_means(result)
        return draw.html(f'{shown.html}<p class="note">{words}</p>', f"{shown.alt} {words}")
