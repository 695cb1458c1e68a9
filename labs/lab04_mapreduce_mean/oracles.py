"""What lab 04's answers must be: slow on purpose, in exact fractions, with every number and every place written out."""

import math
from fractions import Fraction

from course.checks.compare import same, show

from .driver import bracket, by_initial

CLOSE = 1e-3  # how near to the exact mean a steady mean must be


# ---- Map and reduce by hand ------------------------------------------------------------------------------------------


def all_pairs_first(parts):
    """Every pair is written down; then, for each key, its values are looked up and joined from the left."""
    pairs = [pair for part in parts for pair in by_initial(part)]
    result = {}
    for wanted, _ in pairs:
        values = [value for key, value in pairs if key == wanted]
        joined = values[0]
        for value in values[1:]:
            joined = bracket(joined, value)
        result[wanted] = joined
    return result


# ---- Numbers ---------------------------------------------------------------------------------------------------------


def exact_mean(means, sizes):
    """Fractions, which never round; a slice of nothing has no say."""
    pairs = [(Fraction(mean), size) for mean, size in zip(means, sizes, strict=True) if size]
    total = sum(size for _, size in pairs)
    return float(sum(mean * size for mean, size in pairs) / total) if pairs else math.nan


def whole_spread(numbers):
    """The (size, mean, variance) of all numbers, in fractions."""
    return len(numbers), *mean_and_variance(numbers)


def mean_and_variance(numbers):
    """Return the mean and the variance of a list of numbers, worked out in fractions."""
    exact = [Fraction(float(number)) for number in numbers]
    mean = sum(exact) / len(exact)
    return float(mean), float(sum((number - mean) ** 2 for number in exact) / len(exact))


def without_rounding(blocks):
    """Python's `math.fsum` of all the numbers, and one division."""
    every = [float(number) for block in blocks for number in block]
    return math.fsum(every) / len(every)


def near_the_mean(got, blocks):
    """Return True, or what is wrong with `got` as the mean of `blocks`."""
    exact = without_rounding(blocks)
    try:
        near = abs(float(got) - exact) <= CLOSE  # nan is near to nothing
    except (TypeError, ValueError, OverflowError):
        return "give one number"
    return near or f"expected {exact!r}, give or take {CLOSE}"


# ---- Places ----------------------------------------------------------------------------------------------------------


def renamed_piece_by_piece(jobs, places, old, new):
    """A place is cut at every slash; only a piece that is the job's, whole, is written anew."""
    pieces = [[f"job:{new}" if piece == f"job:{old}" else piece for piece in place.split("/")] for place in places]
    return {new if job == old else job: list(hosts) for job, hosts in jobs.items()}, ["/".join(p) for p in pieces]


def judge_renamed(case, got):
    """Return None, or what is wrong with jobs and places as renamed, or with the input as it was left."""
    jobs, pins, old, new = case.arguments
    wanted = renamed_piece_by_piece(jobs, pins, old, new)
    if not same(got[:2], wanted):
        return f"expected {show(wanted)}, and then its input as it was"
    return None if same(got[2:], (jobs, pins)) else "it changed its input, which stands behind its answer here"


def looked_up(jobs, place):
    """Every place that the cluster has is written out, and looked for; None where it isn't among them."""
    for job, addresses in jobs.items():
        for index, address in enumerate(addresses):
            name = f"/job:{job}/task:{index}"
            if place == name:
                return address, "/cpu:0"
            if place.startswith(f"{name}/"):
                return address, place[len(name) :]
    return None


def judge_located(case, got):
    """Return None, or what is wrong with (whether it refused, what it returned) of a place that is or isn't there.

    In the group "refused" a place that is there may be found anywhere: it is asked whether it is refused.
    """
    wanted = looked_up(*case.arguments)
    if same(got, (wanted is None, wanted)) or (wanted and case.group == "refused" and not got[0]):
        return None
    refused = ", not a ValueError" if got[0] else ""
    return "expected a ValueError: there is no such task" if wanted is None else f"expected {wanted}{refused}"


def away_from(record, place):
    """A device is home when its name, piece by piece, begins with the place's."""
    home = place.split("/")
    return [
        op["op"]
        for op in record
        if not op["view"] and op["bytes_moved"] == 0 and op["device"].split("/")[: len(home)] != home
    ]
