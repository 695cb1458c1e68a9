"""The innermost kernels of the packed engine, compiled for each rule: rows of words, a generation on.

The layout is in `course.life.kernels`, whose `advance` is compiled once for all rules and calls these by address.
"""

from functools import cache

import numba
import numpy as np
from numba import types

from course.compiled import kernel, kernel_address

# Those of kernels.py, written again (a test compares): compiled code is kept until this file changes.
BORDER = 8
ONE, LAST = np.uint64(1), np.uint64(63)
BEFORE = BORDER - 1
WORDS = types.CPointer(types.uint64)
ROWS = types.void(WORDS, WORDS, *[types.int64] * 4)
ONLY_ROW = types.void(WORDS, WORDS, *[types.int64] * 3, types.uint64, types.uint64)


@cache
def rows_of(birth: int, survive: int) -> int:
    """Return the address of the kernel that advances rows by one rule: bit n of `birth`, `survive` for n neighbours."""

    @kernel_address(ROWS)
    def rows(source, target, stride, count, first, last):
        """Write rows `first` to `last`, four at a time; up to three below are overwritten."""
        near, out = numba.carray(source, (last + 6, stride)), numba.carray(target, (last + 6, stride))
        for i in range(first, last + 1, 4):
            # sliced first, then from 1 on: what begins at a number known at run time is not turned into vectors
            a, b, c = near[i - 1, BEFORE:], near[i, BEFORE:], near[i + 1, BEFORE:]
            d, e, f = near[i + 2, BEFORE:], near[i + 3, BEFORE:], near[i + 4, BEFORE:]
            out_b, out_c = out[i, BEFORE:], out[i + 1, BEFORE:]
            out_d, out_e = out[i + 2, BEFORE:], out[i + 3, BEFORE:]
            for x in range(1, count + 1):
                al, am, ar = a[x - 1], a[x], a[x + 1]
                bl, bm, br = b[x - 1], b[x], b[x + 1]
                cl, cm, cr = c[x - 1], c[x], c[x + 1]
                dl, dm, dr = d[x - 1], d[x], d[x + 1]
                el, em, er = e[x - 1], e[x], e[x + 1]
                fl, fm, fr = f[x - 1], f[x], f[x + 1]
                xl, yl, xr, yr = bl ^ cl, bl & cl, br ^ cr, br & cr  # two sums that two rows share
                out_b[x] = lives(al ^ xl, yl | (al & xl), ar ^ xr, yr | (ar & xr), am ^ cm, am & cm, bm, birth, survive)
                out_c[x] = lives(dl ^ xl, yl | (dl & xl), dr ^ xr, yr | (dr & xr), bm ^ dm, bm & dm, cm, birth, survive)
                xl, yl, xr, yr = dl ^ el, dl & el, dr ^ er, dr & er
                out_d[x] = lives(cl ^ xl, yl | (cl & xl), cr ^ xr, yr | (cr & xr), cm ^ em, cm & em, dm, birth, survive)
                out_e[x] = lives(fl ^ xl, yl | (fl & xl), fr ^ xr, yr | (fr & xr), dm ^ fm, dm & fm, em, birth, survive)

    return rows


@cache
def only_row_of(birth: int, survive: int) -> int:
    """Return the address of the kernel for one word row: above and below it is the row itself, moved by a bit."""

    @kernel_address(ONLY_ROW)
    def only_row(source, target, stride, count, height, wrap, alive):
        """Write the row; `wrap` is 1 or 0, and the bits that are not in `alive` stay empty."""
        row, out = numba.carray(source, (2, stride))[1, BEFORE:], numba.carray(target, (2, stride))[1, BEFORE:]
        before, after = np.uint64(height - 1), np.uint64(64 % height)
        for x in range(1, count + 1):
            bl, bm, br = row[x - 1], row[x], row[x + 1]
            al, am, ar = (
                bl << ONE | (bl >> before) & wrap,
                bm << ONE | (bm >> before) & wrap,
                br << ONE | (br >> before) & wrap,
            )
            cl, cm, cr = (
                bl >> ONE | ((bl >> after) & wrap) << LAST,
                bm >> ONE | ((bm >> after) & wrap) << LAST,
                br >> ONE | ((br >> after) & wrap) << LAST,
            )
            xl, yl, xr, yr = al ^ bl, al & bl, ar ^ br, ar & br
            next_bits = lives(xl ^ cl, yl | (xl & cl), xr ^ cr, yr | (xr & cr), am ^ cm, am & cm, bm, birth, survive)
            out[x] = next_bits & alive

    return only_row


@kernel(inline="always")
def lives(low_left, high_left, low_right, high_right, low, high, alive, birth, survive):
    """Return the next state from the counts, low and high bit, of the columns left, right and (two cells) between."""
    sides = low_left ^ low_right
    odd = sides ^ low
    carry = (low_left & low_right) | (sides & low)
    two, both = high_left ^ high_right, high_left & high_right
    more, full = high ^ carry, high & carry
    if birth == 8 and survive == 12:  # Conway: exactly one two among the parts, and odd, or alive before
        return (two ^ more) & (odd | alive) & ~(both | full)
    four, eight, two = both ^ full ^ (two & more), both & full, two ^ more
    n01 = pick(odd, lives_with(1, alive, birth, survive), lives_with(0, alive, birth, survive))
    n23 = pick(odd, lives_with(3, alive, birth, survive), lives_with(2, alive, birth, survive))
    n45 = pick(odd, lives_with(5, alive, birth, survive), lives_with(4, alive, birth, survive))
    n67 = pick(odd, lives_with(7, alive, birth, survive), lives_with(6, alive, birth, survive))
    fewer = pick(four, pick(two, n67, n45), pick(two, n23, n01))
    # eight leave the digits below at 0: so `fewer` took them for none, and is wrong where the rule tells the two apart
    return fewer ^ (eight & (lives_with(8, alive, birth, survive) ^ lives_with(0, alive, birth, survive)))


@kernel(inline="always")
def pick(choice, chosen, other):
    """Return the bits of `one` where those of `choice` are set, else those of `other`."""
    return other ^ (choice & (chosen ^ other))


@kernel(inline="always")
def lives_with(count, alive, birth, survive):
    """Return the bits that live on with `count` neighbours."""
    born = np.uint64(0) - np.uint64((birth >> count) & 1)
    stays = np.uint64(0) - np.uint64((survive >> count) & 1)
    return pick(alive, stays, born)
