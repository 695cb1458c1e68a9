"""One line a figure: what was measured, what stood beside it in the same run, the ratio, the limit it must keep."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A figure: `value` in `unit`; `beside` names a peer of the same run, `peer` is its value; `limit` as text.

    `ratio`: of runs that took turns, their median ratio, which the medians' ratio need not be.
    """

    what: str
    value: float
    unit: str
    beside: str = ""
    peer: float | None = None
    limit: str = ""
    ratio: float | None = None

    def __str__(self):
        times = self.value / self.peer if self.peer and self.ratio is None else self.ratio
        ratio = f"{times:9.2f}×  of {self.beside} ({self.peer:.4g})" if self.peer else ""
        limit = f"  [must be {self.limit}]" if self.limit else ""
        return f"  {self.what:<58} {self.value:>10.4g} {self.unit:<10}{ratio}{limit}"
