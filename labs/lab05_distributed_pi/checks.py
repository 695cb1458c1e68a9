"""Lab 05's exercises: darts counted, shared out among servers and GPUs, their error, and streams that don't overlap.

The oracles go dart by dart: a stream drawn from its beginning, values of 4 and 0 written out, every dart in a set. They
are marking's too. No cluster and no torch.
"""

import math
import zlib
from contextlib import nullcontext
from fractions import Fraction
from functools import partial

import numpy as np

from course.checks.exercise import Exercise, same, strategy

# ---- Darts of a stream -----------------------------------------------------------------------------------------------


def dart_by_dart(stream, first, last):
    """The stream drawn from its beginning, a number at a time; two numbers are a dart."""
    numbers = np.random.Generator(np.random.Philox(key=stream))
    inside = 0
    for dart in range(last):
        x, y = numbers.random(), numbers.random()
        inside += dart >= first and x * x + y * y < 1
    return inside


DARTS = [
    (1, 0, 0),
    (1, 0, 1),
    (1, 0, 10),
    (1, 3, 10),
    (2, 0, 10),
    (7, 5, 6),
    (1, 4, 40),
    (3, 100, 1001),
    (2**40, 1, 999),
]


# ---- Darts on servers ------------------------------------------------------------------------------------------------


class Submit:
    """`submit(server, first, last)`: a future whose result is a made-up count.

    `calls` says what was called; `waited`, how many calls there had been when the first result was asked for.
    """

    def __init__(self):
        self.calls, self.waited = [], None

    def __call__(self, server, first, last):
        self.calls.append(tuple(map(_whole, (server, first, last))))
        return Future(made_up(*self.calls[-1]), self)

    def __repr__(self):
        return "submit"


class Future:
    """The answer to one call of a `Submit`, which is told when the answer is asked for."""

    def __init__(self, count, submit):
        self._count, self._submit = count, submit

    def result(self, timeout=None):
        if self._submit.waited is None:
            self._submit.waited = len(self._submit.calls)
        return self._count


def made_up(server, first, last):
    """A count that can't be known without asking: no more than there are darts, another for every range."""
    return zlib.crc32(f"{server} {first} {last}".encode()) % (abs(last - first) + 1)


def _whole(number):
    if int(number) != number:
        raise ValueError(f"{number!r} is not a whole number")
    return int(number)


def on_servers(got, calls, waited, darts, servers):
    """Return True, or what is wrong with what `pi_on_servers` returned and with its calls of `submit`."""
    if waited is not None and waited < len(calls):
        return "it waits for a result before every range is submitted, so the servers work one after another"
    wrong = _shares_wrong([tuple(call[1:]) for call in calls], darts, servers)
    if wrong:
        return wrong
    asked = [call[0] for call in calls]
    if len(set(asked)) != len(asked) or not set(asked) <= set(range(servers)):
        return f"it asks the servers {asked}; each of 0 to {servers - 1} once"
    total = sum(made_up(*call) for call in calls)
    return same(got, (total, 4 * total / darts)) or f"expected {(total, 4 * total / darts)}, from the servers' counts"


def _shares_wrong(ranges, darts, shares):
    """Return what is wrong with `ranges` as fair shares of 0 … darts - 1, or None; an empty share may be left out."""
    fewest, most = darts // shares, -(-darts // shares)
    for first, last in ranges:
        if not 0 <= first <= last <= darts:
            return f"({first}, {last}) is no range of the darts 0 to {darts - 1}"
        if not fewest <= last - first <= most:
            fair = fewest if fewest == most else f"{fewest} or {most}"
            return f"a share of {last - first}, from {first} to {last}; a fair share of {darts} darts is {fair}"
    following = 0
    for first, last in sorted(ranges):
        if first != following:
            return f"dart {min(first, following)} is thrown {'twice' if first < following else 'by nobody'}"
        following = last
    return None if following == darts else f"dart {following} is thrown by nobody"


# ---- Darts on GPUs ---------------------------------------------------------------------------------------------------


def on_gpus(got, devices, darts):
    """Return True, or what is wrong with `got` as a plan for the GPUs among `devices`."""
    try:
        plan = [(str(task), str(device), _whole(first), _whole(last)) for task, device, first, last in got]
    except (TypeError, ValueError, OverflowError):
        return "give a list of (task, device, first, last), the last two whole numbers"
    gpus = [(name[: name.rindex("/")], f"cuda:{name.rpartition(':')[2]}") for name in devices if "/gpu:" in name]
    named = [entry[:2] for entry in plan]
    if sorted(named) != sorted(gpus):
        odd = [name for name in named if name not in gpus] or [gpu for gpu in gpus if named.count(gpu) != 1]
        told = f"is in it {named.count(odd[0])} times" if odd[0] in gpus else "is none of the GPUs"
        return f"{odd[0]} {told}; each GPU belongs there once, as its task's name and torch's name for it in that task"
    return _shares_wrong([entry[2:] for entry in plan], darts, len(gpus)) or True


def cluster_of(tasks, gpus, job="worker"):
    """Return the names of the devices of so many tasks with a CPU and so many GPUs each, as a cluster lists them."""
    kinds = ["cpu:0", *(f"gpu:{index}" for index in range(gpus))]
    return [f"/job:{job}/task:{task}/{kind}" for task in range(tasks) for kind in kinds]


# ---- Errors ----------------------------------------------------------------------------------------------------------


def written_out(counts):
    """Every dart is written out as 4 or 0; their mean, and their standard deviation over the root of how many."""
    inside, samples = (sum(column) for column in zip(*counts, strict=True))
    values = np.repeat([4.0, 0.0], [inside, samples - inside])
    return float(values.mean()), float(values.std()) / math.sqrt(samples)


COUNTS = [[(1, 1)], [(1, 2)], [(8, 10), (7, 10)], [(9, 10), (50, 90)], [(0, 0), (3, 4)], [(785, 1000), (7854, 10_000)]]


def pair_by_pair(values):
    """The squared differences of all pairs, which need no mean: half their average is the variance of one value."""
    exact = [Fraction(float(value)) for value in values]
    count = len(exact)
    squares = sum((a - b) ** 2 for a in exact for b in exact) / (2 * count * (count - 1))
    return math.sqrt(squares / count)


RUNS = [[3.0, 3.0], [3.0, 4.0], [3.0, 3.25, 3.5], [3.125, 3.25, 3.0, 3.5], [3.1, 3.2, 3.15, 3.12, 3.18, 3.11, 3.09]]


# ---- Streams ---------------------------------------------------------------------------------------------------------


def place_in_line(run, server, servers):
    """All pairs are written down, run after run; the pair is looked for."""
    line = [(earlier, index) for earlier, count in enumerate(servers) for index in range(count)]
    return line.index((run, server))


PLACES = [
    (0, 0, [1]),
    (0, 1, [2]),
    (1, 0, [1, 1]),
    (1, 0, [2, 2]),
    (1, 2, [2, 4]),
    (2, 1, [3, 0, 2]),
    (1, 11, [12, 12]),
    (3, 4, [7, 2, 9, 5, 1]),
]


def one_by_one(ranges):
    """Every dart that is thrown is looked for among those that were."""
    thrown, again = set(), 0
    for stream, first, last in ranges:
        for dart in range(first, last):
            again += (stream, dart) in thrown
            thrown.add((stream, dart))
    return again


RANGES = [
    [],
    [(1, 0, 5)],
    [(1, 0, 5), (1, 5, 9)],
    [(1, 0, 5), (1, 4, 9)],
    [(1, 0, 5), (2, 0, 5)],
    [(1, 3, 3), (1, 0, 9)],
    [(1, 0, 5), (1, 7, 9), (1, 3, 8)],
    [(1, 0, 4), (1, 0, 4), (1, 0, 4)],
    [(1, 0, 10), (1, 2, 4), (1, 6, 7), (2, 6, 7)],
    [(1, 6, 9), (2, 0, 3), (1, 0, 7), (2, 2, 8)],
]


# ---- What is asked ---------------------------------------------------------------------------------------------------


def _and_its_calls(pi_on_servers, arguments):
    return pi_on_servers(*arguments), arguments[-1]


def shares_to_try():
    """Yield (darts, servers, what takes work): fewer darts than servers, as many, more, with and without a rest."""
    for darts, servers in ((1, 1), (4, 2), (5, 2), (10, 4), (7, 7), (2, 5), (1000, 3), (1003, 13)):
        yield darts, servers, Submit()


def clusters_to_try():
    """Yield (names of devices, darts); the last has a job called gpus without a GPU, and a GPU 3 alone."""
    for tasks, gpus, darts in ((1, 1, 1), (1, 2, 4), (2, 1, 4), (2, 2, 10), (2, 2, 3), (1, 12, 100), (3, 4, 1000)):
        yield cluster_of(tasks, gpus), darts
    yield [*cluster_of(1, 0, "gpus"), *cluster_of(2, 1), "/job:chief/task:0/cpu:0", "/job:chief/task:0/gpu:3"], 100


_drawn = partial(strategy, f"{__package__}.strategies")

EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "count_inside",
            lambda: DARTS,
            dart_by_dart,
            inputs=_drawn("ranges_of_darts"),
            hint="darts first to last - 1 are the numbers 2 * first to 2 * last - 1; x is every second of them.",
        ),
        Exercise(
            "pi_on_servers",
            shares_to_try,
            accepts=lambda got, seen, darts, servers, _: on_servers(got, seen.calls, seen.waited, darts, servers),
            watch=lambda: nullcontext(_and_its_calls),
            inputs=_drawn("shares"),
            hint="one list of futures, made in a first loop; their results are added up in a second.",
        ),
        Exercise(
            "pi_on_gpus",
            clusters_to_try,
            accepts=on_gpus,
            inputs=_drawn("clusters"),
            hint="pick out the GPUs first; then their number says how large a share is.",
        ),
        Exercise(
            "pooled_pi",
            lambda: ((counts,) for counts in COUNTS),
            written_out,
            inputs=_drawn("counts"),
            hint="add up all that fell inside and all that were thrown; then it is one server's formula.",
        ),
        Exercise(
            "error_of_runs",
            lambda: ((values,) for values in RUNS),
            pair_by_pair,
            inputs=_drawn("runs"),
            hint="np.std(values, ddof=1): the mean was worked out from the same values, which costs one.",
        ),
        Exercise(
            "stream_for",
            lambda: PLACES,
            place_in_line,
            inputs=_drawn("pairs"),
            hint="how many pairs stand in the line before the first of this run?",
        ),
        Exercise(
            "thrown_twice",
            lambda: ((ranges,) for ranges in RANGES),
            one_by_one,
            inputs=_drawn("logs"),
            hint="go through a stream's ranges by their beginnings; remember the furthest end so far.",
        ),
    ]
}
