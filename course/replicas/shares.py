"""A length cut into consecutive shares, equal ones or by weight."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise


def shares(length: int, parts: int, weights: Sequence[float] | None = None) -> list[slice]:
    """Return `parts` slices that cover 0 … `length` − 1 in order, none overlapping.

    Without `weights` their sizes differ by one at most. With `weights` (`parts` numbers from 0 up, not all 0) a
    share is as large as its weight's part of the whole, rounded by less than one. A share may be empty.
    Raises ValueError for a negative length, no parts, or weights that are not so.

    >>> shares(7, 2)
    [slice(0, 3, None), slice(3, 7, None)]
    >>> [part.stop - part.start for part in shares(8, 2, weights=[3, 1])]
    [6, 2]
    """
    if length < 0 or parts < 1:
        raise ValueError(f"shares(length={length}, parts={parts}): give a length from 0 up and at least one part.")
    weights = [1] * parts if weights is None else list(weights)
    if len(weights) != parts or not all(_is_weight(weight) for weight in weights) or not sum(weights) > 0:
        raise ValueError(
            f"shares(weights={weights}): give {parts} numbers from 0 up, one a part and not all 0, such as "
            f"{[1] * parts}."
        )
    exact = [Fraction(weight) for weight in weights]  # floats would lose the last row of a long matrix
    ends = [int(length * sum(exact[:count]) / sum(exact)) for count in range(parts + 1)]
    return [slice(first, last) for first, last in pairwise(ends)]


def _is_weight(value):
    return value >= 0 and value != float("inf")
