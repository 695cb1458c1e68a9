"""Faults that the monkey must find: an exhibit whose button throws, keeps memory, or makes Python raise."""

import traitlets

from course import draw
from course.widgets.exhibits.exhibit import Exhibit


class Planted(Exhibit):
    """One button, whose `fault` is "throws", "leaks", "raises" or "" for none."""

    module = "planted.js"
    fault = traitlets.Unicode("").tag(state=True)

    def engine(self, fault):
        """Return nothing of interest."""
        return fault

    def answer(self, result):
        """Return a headline."""
        return {"figure": result}

    def draw(self, result):
        """Return no picture."""
        return draw.html("", "nothing")

    def data(self):
        """Return the fault."""
        return {"fault": self.fault}

    def _heard(self, wire, content, buffers):
        if isinstance(content, dict) and "raise" in content:
            raise LookupError("planted in Python")
        super()._heard(wire, content, buffers)
