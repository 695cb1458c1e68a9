"""Whether a figure was measured, recorded or modelled: every figure says which, and on what."""


class Figure:
    """A number of seconds, bytes or operations that says its `kind` and its `origin`.

    Its kind is "measured" here and now, "recorded" on another day, or "modelled" from a data sheet. `origin` names the
    hardware, and the date where there is one; it may be empty.
    """

    kind: str
    origin: str

    @property
    def label(self) -> str:
        """Where the figure comes from, in words, to stand beside it wherever it is shown.

        >>> from course.traces import MatmulTiming
        >>> MatmulTiming(8, "/cpu:0", compute=1.0, kind="recorded", origin="a CPU, 2026-11-21").label
        'recorded: a CPU, 2026-11-21'
        """
        return f"{self.kind}: {self.origin}" if self.origin else self.kind
