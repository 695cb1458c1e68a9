"""Counting neighbours in parallel, a bit a cell: adders made of AND, OR and XOR on whole words."""

import torch
from torch import bitwise_and, bitwise_or, bitwise_xor

from course.life.rule import Rule

CONWAY = Rule.parse("B3/S23")
INNER = slice(1, -1)  # the words that have one to the left and one to the right


class Scratch:
    """Buffers for the sums: made for the largest tile, used again for every other and every generation."""

    def __init__(self) -> None:
        self._buffers: list[torch.Tensor] = []

    def take(self, size: int) -> list[torch.Tensor]:
        """Return six vectors of `size` words; what they hold is left over from before."""
        if all(len(buffer) < size for buffer in self._buffers):  # so too if there are none yet
            self._buffers = [torch.empty(size, dtype=torch.int64) for _ in range(6)]
        return [buffer[:size] for buffer in self._buffers]


def advance(tile: torch.Tensor, generations: int, rule: Rule, scratch: Scratch) -> None:
    """Advance `tile`, `torch.int64` (h, w), in place; its outer `generations` rows and columns end up meaningless.

    The tile is taken as one long vector, so that each operation is a single run over memory. The word left of a row's
    first is then the last of the row above: wrong, but on the rim.
    """
    width = tile.shape[1]
    one_generation = _conway if rule == CONWAY else _any_rule
    for generation in range(generations):
        rows = tile[generation : -generation or None]  # without the rim that is meaningless already
        one_generation(rows.view(-1), width, rule, scratch)


def _any_rule(flat, width, rule, scratch):
    """One generation of any rule: the count of neighbours as four planes of bits, then the rule on those."""
    above, here, below = flat[: -2 * width], flat[width:-width], flat[2 * width :]
    pair_1, pair_2 = above ^ below, above & below
    column_1, column_2 = pair_1 ^ here, pair_2 | (pair_1 & here)

    ones = column_1[:-2], column_1[2:], pair_1[INNER]
    twos = column_2[:-2], column_2[2:], pair_2[INNER]
    inside = flat[width + 1 : -width - 1]
    inside.copy_(decide(inside, ones, twos, rule))


def decide(
    alive: torch.Tensor, ones: tuple[torch.Tensor, ...], twos: tuple[torch.Tensor, ...], rule: Rule
) -> torch.Tensor:
    """Return the next state of the bits `alive`, `torch.int64`, from the ones and twos of three sums of neighbours.

    The three are the column on the left, that on the right, and the pair above and below the cell itself; all tensors
    have the shape of `alive`.
    """
    left, right, middle = ones
    plane_1 = left ^ right ^ middle
    carry = (left & right) | ((left ^ right) & middle)

    # twos: the same three, and the carry; two pairs of twos make eight
    left, right, middle = twos
    sides, centre = left ^ right, middle ^ carry
    plane_2 = sides ^ centre
    plane_4 = (left & right) ^ (middle & carry) ^ (sides & centre)
    plane_8 = left & right & middle & carry
    planes = [plane_1, plane_2, plane_4, plane_8]

    def count_is(k):
        agree = [plane if k >> i & 1 else ~plane for i, plane in enumerate(planes)]
        return agree[0] & agree[1] & agree[2] & agree[3]

    return rule.apply(alive, count_is)


def _conway(flat, width, rule, scratch):
    """One generation of B3/S23 in 20 operations and no new memory; `_any_rule` is what it must equal.

    Only counts of 2 and 3 matter. They are those with exactly one "two" among their parts, and a cell lives then if the
    count is odd (3) or it was alive (2).
    """
    pair_1, pair_2, column_1, column_2, sides, carry = scratch.take(flat.numel() - 2 * width)
    above, here, below = flat[: -2 * width], flat[width:-width], flat[2 * width :]
    bitwise_xor(above, below, out=pair_1)
    bitwise_and(above, below, out=pair_2)
    bitwise_xor(pair_1, here, out=column_1)
    bitwise_and(pair_1, here, out=column_2)
    bitwise_or(column_2, pair_2, out=column_2)

    left, right, middle, sides, carry = column_1[:-2], column_1[2:], pair_1[INNER], sides[INNER], carry[INNER]
    bitwise_xor(left, right, out=sides)
    bitwise_and(left, right, out=carry)
    odd = left  # from here on the left column's ones are not needed: their place is
    bitwise_xor(sides, middle, out=odd)
    bitwise_and(sides, middle, out=sides)
    bitwise_or(carry, sides, out=carry)

    left, right, middle, more = column_2[:-2], column_2[2:], pair_2[INNER], pair_1[INNER]
    two = sides
    bitwise_xor(left, right, out=two)
    bitwise_and(left, right, out=more)
    bitwise_xor(two, middle, out=two)
    bitwise_xor(two, carry, out=two)
    bitwise_and(middle, carry, out=carry)
    bitwise_or(more, carry, out=more)
    bitwise_or(two, more, out=two)  # two and not more, with or and xor: torch has no and-not
    bitwise_xor(two, more, out=two)

    inside = flat[width + 1 : -width - 1]
    bitwise_or(odd, inside, out=odd)
    bitwise_and(two, odd, out=inside)
