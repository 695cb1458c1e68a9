"""What lab 05's answers must be, dart by dart: a stream drawn from its beginning, values of 4 and 0 written out.

No cluster and no torch.
"""

import math
from fractions import Fraction

import numpy as np

from course.checks.compare import same

from .driver import made_up, whole

# ---- Darts of a stream -----------------------------------------------------------------------------------------------


def dart_by_dart(stream, first, last):
    """The stream drawn from its beginning, a number at a time; two numbers are a dart."""
    numbers = np.random.Generator(np.random.Philox(key=stream))
    inside = 0
    for dart in range(last):
        x, y = numbers.random(), numbers.random()
        inside += dart >= first and x * x + y * y < 1
    return inside


# ---- Darts on servers ------------------------------------------------------------------------------------------------


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
        plan = [(str(task), str(device), whole(first), whole(last)) for task, device, first, last in got]
    except (TypeError, ValueError, OverflowError):
        return "give a list of (task, device, first, last), the last two whole numbers"
    gpus = [(name[: name.rindex("/")], f"cuda:{name.rpartition(':')[2]}") for name in devices if "/gpu:" in name]
    named = [entry[:2] for entry in plan]
    if sorted(named) != sorted(gpus):
        odd = [name for name in named if name not in gpus] or [gpu for gpu in gpus if named.count(gpu) != 1]
        told = f"is in it {named.count(odd[0])} times" if odd[0] in gpus else "is none of the GPUs"
        return f"{odd[0]} {told}; each GPU belongs there once, as its task's name and torch's name for it in that task"
    return _shares_wrong([entry[2:] for entry in plan], darts, len(gpus)) or True


# ---- Errors ----------------------------------------------------------------------------------------------------------


def written_out(counts):
    """Every dart is written out as 4 or 0; their mean, and their standard deviation over the root of how many."""
    inside, samples = (sum(column) for column in zip(*counts, strict=True))
    values = np.repeat([4.0, 0.0], [inside, samples - inside])
    return float(values.mean()), float(values.std()) / math.sqrt(samples)


def pair_by_pair(values):
    """The squared differences of all pairs, which need no mean: half their average is the variance of one value."""
    exact = [Fraction(float(value)) for value in values]
    count = len(exact)
    squares = sum((a - b) ** 2 for a in exact for b in exact) / (2 * count * (count - 1))
    return math.sqrt(squares / count)


# ---- Streams ---------------------------------------------------------------------------------------------------------


def place_in_line(run, server, servers):
    """All pairs are written down, run after run; the pair is looked for."""
    line = [(earlier, index) for earlier, count in enumerate(servers) for index in range(count)]
    return line.index((run, server))


def one_by_one(ranges):
    """Every dart that is thrown is looked for among those that were."""
    thrown, again = set(), 0
    for stream, first, last in ranges:
        for dart in range(first, last):
            again += (stream, dart) in thrown
            thrown.add((stream, dart))
    return again
