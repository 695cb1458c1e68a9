"""Counts of durations in buckets that grow by a half: enough for a percentile to within a fifth, in 400 bytes."""

from bisect import bisect_left

#: Upper bounds in seconds: 0.1 ms to 30 s.
SECONDS = tuple(round(1e-4 * 1.5**step, 7) for step in range(32))
#: Upper bounds in rows.
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Histogram:
    """How many values fell below each of `bounds` (the last bucket is for what is larger), and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...] = SECONDS):
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def percentile(self, percent: float) -> float:
        """Return the value below which `percent` of all are, interpolated linearly in its bucket; NaN for none."""
        wanted, below = sum(self.counts) * percent / 100, 0
        for at, count in enumerate(self.counts):
            if count and below + count >= wanted:
                low = self.bounds[at - 1] if at else 0.0
                high = self.bounds[at] if at < len(self.bounds) else low
                return low + (high - low) * (wanted - below) / count
            below += count
        return float("nan")

    def lines(self, name: str, labels: str) -> list[str]:
        """Return it in Prometheus' text form; `labels` as `model="mnist"`."""
        comma, total, lines = "," if labels else "", 0, []
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            total += count
            lines.append(f'{name}_bucket{{{labels}{comma}le="{bound}"}} {total}')
        return [*lines, f"{name}_sum{{{labels}}} {self.sum:.6f}", f"{name}_count{{{labels}}} {total}"]
