"""Where you cut decides whether two means may be averaged: move the cut and see the gap."""

import ipywidgets
import traitlets

from course import draw
from course.draw.picture import Picture
from course.mapreduce import mean, part_sum, slices
from course.widgets.explorer import Explorer

#: Sixteen quick answers and four slow ones, in seconds: where the values differ, the weights show.
_SECONDS = [1.2, 0.8, 1.1, 0.9, 1.0, 1.3, 0.7, 1.0, 1.1, 0.9, 1.2, 0.8, 1.0, 1.0, 0.9, 1.1, 6.1, 5.8, 6.3, 5.8]


class SliceMean(Explorer):
    """Cuts `values` in two slices before position `cut`; shows both means, their average and the weighted mean.

    `values`: 1 to 1,000 finite numbers; `cut`: 0 to their number. `result` is a `draw.SliceMeans`.
    """

    values = traitlets.List(traitlets.Float(), _SECONDS, minlen=1, maxlen=1000).tag(state=True)
    cut = traitlets.Int(10, min=0).tag(state=True)

    def controls(self) -> list[ipywidgets.Widget]:
        """Return one slider: the cut."""
        self._slider = self.slider("cut", 0, len(self.values), "Cut before number")
        return [self._slider]

    @traitlets.validate("cut")
    def _legal_cut(self, proposal):
        if proposal.value > len(self.values):
            raise traitlets.TraitError(f"SliceMean(cut={proposal.value}): give 0 to {len(self.values)}.")
        return proposal.value

    @traitlets.observe("values")
    def _fit(self, change):
        if self.cut > len(self.values):
            self.cut = len(self.values)
        if hasattr(self, "_slider"):
            self._slider.max = len(self.values)

    def compute(self) -> draw.SliceMeans:
        """Return the two slices' means and both ways to join them."""
        sizes = [self.cut, len(self.values) - self.cut]
        means = [part_sum(part).mean for part in slices(self.values, sizes)]
        return draw.SliceMeans(tuple(self.values), tuple(sizes), tuple(means), mean(self.values, sizes))

    def draw(self, result: draw.SliceMeans) -> Picture:
        """Return the slices as bars with both levels across them."""
        return draw.slice_means(result)
