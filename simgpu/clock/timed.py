"""A stretch of modelled time, from an idle machine to one that has been waited for: what `clock.timed()` gives."""

from typing import TYPE_CHECKING, Any

from simgpu.units import seconds_in_words

if TYPE_CHECKING:
    from simgpu.clock.modelled_clock import ModelledClock


class Timed:
    """A stretch of modelled time: `seconds` from `start` to `stop`; its repr says after which model."""

    def __init__(self, clock: "ModelledClock"):
        self.clock = clock
        self.start = clock.host
        self.stop: float | None = None  # until the end of the `with`

    @property
    def seconds(self) -> float:
        """Modelled seconds, those up to now while the `with` is still open."""
        return (self.clock.host if self.stop is None else self.stop) - self.start

    def picture(self, title: str = "") -> Any:
        """Return the lanes of this stretch alone as the clock's picture."""
        return self.clock.picture(title, self.start, float("inf") if self.stop is None else self.stop)

    def __repr__(self):
        return f"{seconds_in_words(self.seconds)}, {self.clock.model.label}"
