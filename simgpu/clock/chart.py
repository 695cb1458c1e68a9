"""A picture of a clock's spans: what kept each lane busy, and when, as text for a terminal or a notebook."""

from collections.abc import Sequence
from dataclasses import dataclass

from simgpu.units import seconds_in_words

_WIDTH = 72  # characters for the whole stretch
_SIGNS = {"launch": "|", "host": "h", "wait": ".", "work": "#", "copy": "="}


@dataclass(frozen=True)
class Span:
    """Something busy on `lane` ("host", "gpu:0 compute", …) from `start` to `stop`, in modelled seconds.

    `what` is "launch", "wait", "host", "work" or "copy"; `name` the op's; `stream` the number of its stream.
    """

    lane: str
    what: str
    start: float
    stop: float
    name: str = ""
    stream: int = 0


class Chart(str):
    """A picture in text, whose repr is the picture itself."""

    __repr__ = str.__str__


def chart(spans: Sequence[Span], title: str, label: str) -> Chart:
    """Return the `Chart` of `spans`, a lane a line, the host's on top; `label` says what kind of seconds these are."""
    start = min((span.start for span in spans), default=0.0)
    length = max((span.stop for span in spans), default=start) - start
    lanes = {lane: [" "] * _WIDTH for lane in ["host", *sorted({span.lane for span in spans} - {"host"})]}
    for span in spans:
        first, last = (int((moment - start) / (length or 1) * _WIDTH) for moment in (span.start, span.stop))
        for place in range(first, min(max(last, first + 1), _WIDTH)):
            lanes[span.lane][place] = _SIGNS.get(span.what, "?")
    lines = [f"{lane:<16}{''.join(signs)}" for lane, signs in lanes.items()]
    legend = ", ".join(f"{sign} {kind}" for kind, sign in _SIGNS.items())
    return Chart("\n".join([title, *lines, f"{seconds_in_words(length)}, {label}: {legend}"]))
