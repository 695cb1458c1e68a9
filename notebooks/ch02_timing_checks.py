"""Exercises of chapter 02: counting operations, a right stopwatch, when copying pays, what moves a crossover."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from statistics import median

from course.checks.exercise import Exercise, by_name
from course.checks.watched_gpus import modelled_gpu
from course.timing.crossover import crossover
from course.traces import load_trace


def count_flops(rows: int, inner: int, columns: int) -> int:
    """Count a product's multiplications and additions one by one: the definition, as loops."""
    count = 0
    for _ in range(rows):
        for _ in range(columns):
            for _ in range(inner):
                count += 2  # one multiplication, one addition to the running sum
    return count


class Queued:
    """Work for a simulated GPU: calling it queues `seconds`, every fifth time twice that; the first call sets up, too.

    It returns at once, as every op on a GPU does.
    """

    def __init__(self, seconds: float, set_up: float) -> None:
        self.seconds, self.set_up, self.calls = seconds, set_up, 0

    def __call__(self) -> None:
        from simgpu import Work

        clock = _clock()
        if self.calls == 0:
            clock.spend(self.set_up, "set-up")
        self.calls += 1
        seconds = self.seconds * (2 if self.calls % 5 == 0 else 1)
        clock.run(0, Work(bytes=seconds * clock.model.memory_bandwidth), "work")

    def __repr__(self):
        return f"work of {self.seconds:g} s, first call {self.set_up:g} s more (modelled)"


def _clock():
    from simgpu import active

    return active().clock


class _Now:
    def __call__(self):
        return _clock().host

    def __repr__(self):
        return "now"


def watched_seconds(work: Callable[[], object], now: Callable[[], float], repeats: int) -> float:
    """Return the median seconds of `repeats` calls of `work`, each waited for, none of them the first."""
    import torch

    work()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start = now()
        work()
        torch.cuda.synchronize()
        times.append(now() - start)
    return median(times)


@contextmanager
def _on_a_clock():
    with modelled_gpu():
        yield lambda answer, arguments: (answer(*arguments),)


def products_needed(cpu: float, copies: float, gpu: float, limit: int = 10_000) -> int:
    """Return the fewest products for which copying once pays, by trying 1, 2, 3, …; -1 if none up to `limit` does."""
    for products in range(1, limit + 1):
        if copies + products * gpu < products * cpu:
            return products
    return -1


_SECONDS = [(2.0, 1.0, 0.5), (1.0, 3.0, 0.5), (1.0, 2.0, 0.5), (0.25, 0.0, 0.125), (1.0, 1.0, 1.0), (1.0, 1.0, 2.0)]


def _works():
    for seconds, set_up, repeats in ((1.0, 0.0, 1), (1.0, 8.0, 1), (2.0, 8.0, 3), (0.001, 0.5, 5)):
        yield Queued(seconds, set_up), _Now(), repeats


#: what is changed -> the changed T4 (or CPU timings), from the recorded or published ones
_CHANGES = {
    "launch and copy latency a quarter": lambda t4: replace(t4, launch=t4.launch / 4, copy_latency=t4.copy_latency / 4),
    "launch and copy latency fourfold": lambda t4: replace(t4, launch=t4.launch * 4, copy_latency=t4.copy_latency * 4),
    "arithmetic eight times as fast": lambda t4: replace(t4, peak={k: 8 * v for k, v in t4.peak.items()}),
    "bus eight times as fast": lambda t4: replace(t4, copy_bandwidth=8 * t4.copy_bandwidth),
    "memory eight times as fast": lambda t4: replace(t4, memory_bandwidth=8 * t4.memory_bandwidth),
}


def _crosses(sheet):
    """Return the size from which the modelled GPU, copies included, beats the recorded CPU, between sizes too."""
    cpu = load_trace("epyc-2-cores")
    both = [cpu.at(n) for n in cpu.sizes()] + [sheet.matmul(n) for n in cpu.sizes()]
    return crossover(both, between_sizes=True).with_transfers


def _explains(answer):
    if not isinstance(answer, dict) or set(answer) != set(_CHANGES):
        return f"give a dictionary with the keys {', '.join(map(repr, _CHANGES))}"
    t4 = load_trace("t4-data-sheet")
    before = _crosses(t4)
    for what, change in _CHANGES.items():
        after = _crosses(change(t4))
        said = "earlier" if after < before else "later" if after > before else "stays"
        if answer[what] != said:
            return (
                f"with {what} the GPU wins from n = {after} (modelled); unchanged it wins from n = {before}: "
                f"that is not {answer[what]!r}"
            )
    return True


EXERCISES = by_name(
    Exercise(
        "matmul_flops",
        lambda: [(1, 1, 1), (1, 2, 1), (2, 1, 1), (1, 1, 2), (2, 3, 4), (5, 4, 3), (7, 1, 9)],
        count_flops,
        hint="each of the rows × columns results is a sum of `inner` products: count both",
    ),
    Exercise(
        "right_stopwatch",
        _works,
        watched_seconds,
        watch=_on_a_clock,
        hint="call once and wait before you count; then, each time, read, call, wait, read; give the median",
    ),
    Exercise(
        "break_even",
        lambda: _SECONDS,
        products_needed,
        hint="compare copies + k·gpu with k·cpu; a tie is no win; answer -1 when it never pays",
    ),
    Exercise(
        "explain_crossover",
        lambda: [()],
        accepts=_explains,
        hint="where the curves cross, what is most of the GPU's time made of?",
    ),
)
