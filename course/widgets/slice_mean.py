"""Where you cut decides whether two means may be averaged: move the cut and see the gap."""

from math import isnan
from typing import Any

import traitlets

from course import draw
from course.draw.picture import Picture
from course.mapreduce import mean, part_sum, slices
from course.widgets.exhibits.exhibit import Exhibit

#: Sixteen quick answers and four slow ones, in seconds: where the values differ, the weights show.
_SECONDS = [1.2, 0.8, 1.1, 0.9, 1.0, 1.3, 0.7, 1.0, 1.1, 0.9, 1.2, 0.8, 1.0, 1.0, 0.9, 1.1, 6.1, 5.8, 6.3, 5.8]


class SliceMean(Exhibit):
    """Cuts `values` in two slices before position `cut`; shows both means, their average and the weighted mean.

    `values`: 1 to 1,000 finite numbers; `cut`: 0 to their number. `result` is a `draw.SliceMeans`.
    """

    module = "slice_mean.js"
    styles = ("slice_mean.css",)
    values = traitlets.List(traitlets.Float(), _SECONDS, minlen=1, maxlen=1000).tag(state=True)
    cut = traitlets.Int(10, min=0).tag(state=True)

    @traitlets.validate("cut")
    def _legal_cut(self, proposal):
        if proposal.value > len(self.values):
            raise traitlets.TraitError(f"SliceMean(cut={proposal.value}): give 0 to {len(self.values)}.")
        return proposal.value

    @traitlets.observe("values")
    def _fit(self, change):
        if self.cut > len(self.values):
            self.cut = len(self.values)

    def engine(self, values: list[float], cut: int) -> draw.SliceMeans:
        """Return the two slices' means and both ways to join them."""
        sizes = [cut, len(values) - cut]
        means = [part_sum(part).mean for part in slices(values, sizes)]
        return draw.SliceMeans(tuple(values), tuple(sizes), tuple(means), mean(values, sizes))

    def grid(self) -> list[dict[str, Any]]:
        """Return every cut."""
        return [{"cut": cut} for cut in range(len(self.values) + 1)]

    def answer(self, result: draw.SliceMeans) -> dict[str, Any]:
        """Return the headline, and the means as numbers: null for that of an empty slice."""
        means = [None if isnan(one) else one for one in result.means]
        figure = f"{result.weighted:.4g}" if result.agree else f"{result.naive:.4g} is not {result.weighted:.4g}"
        return {
            "figure": "no average" if isnan(result.naive) else figure,
            "small": result.finding,
            "means": means,
            "averaged": None if isnan(result.naive) else result.naive,
            "weighted": result.weighted,
        }

    def draw(self, result: draw.SliceMeans) -> Picture:
        """Return the slices as bars with both levels across them."""
        return draw.slice_means(result)
