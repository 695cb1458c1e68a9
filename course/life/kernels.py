"""The kernels of the packed engine: 64 cells in a word, compiled for this processor, the innermost for each rule.

Layout: a board of H rows is cut into 64 lanes of R = ⌈H / 64⌉ rows, and bit j of word (i, c) is the cell in row
(j·R + i) mod H, column c. A neighbour above, below or beside is the neighbouring word, the same bit. The lanes of a
height that 64 doesn't divide overlap: on a torus the surplus bits are a second copy of rows further up, which live the
same life; where edges are dead a mask keeps them empty. Above word row 0 lies word row R - 1, moved by one bit, and the
one bit that has no lane before it is patched; below word row R - 1 in the same way.

Work is cut into tiles: some word rows of some columns, with k ghosts on each side that is cut, advanced k generations
while they lie in the cache. Threads take tiles by tickets, so that any number of them, one too, does all the work and
none waits for a thread that never came. numba's own threads are not used: they don't survive a fork.

What computes is in this file: numba keeps compiled code until the file of a function changes, and looks at no other.
"""

import sys
from functools import cache

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from course.compiled import kernel, kernel_address

ONE = np.uint64(1)
LAST = np.uint64(63)
TAKEN, DONE, WRONG = 0, 8, 16  # places in `tickets`, a cache line apart
BORDER = 8  # words before a tile's first column: one is needed, eight keep it where vectors begin
BEFORE = BORDER - 1
SPINS = 2000  # looks at a counter, a few microseconds, before the processor is offered to others
CAN_YIELD = sys.platform != "win32"
WORDS = types.CPointer(types.uint64)
ROWS = types.void(WORDS, WORDS, *[types.int64] * 4)
ONLY_ROW = types.void(WORDS, WORDS, *[types.int64] * 3, types.uint64)

sched_yield = types.ExternalFunction("sched_yield", types.int32())


def new_tickets() -> np.ndarray:
    """Return the counters by which threads share the work of one call."""
    return np.zeros(24, np.int64)


@intrinsic
def add(typing, array, place, amount):
    """Add `amount` to `array[place]`, with no other thread in between; return what was there."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), build


@intrinsic
def call(typing, address, here, there, *numbers):
    """Call the function at `address` with the places of two arrays' first elements and whole numbers of 64 bits."""

    def build(context, builder, signature, arguments):
        arrays = [context.make_array(signature.args[n])(context, builder, arguments[n]).data for n in (1, 2)]
        given = arrays + list(builder.extract_value(arguments[3], n) for n in range(len(signature.args[3])))
        function = ir.FunctionType(ir.VoidType(), [value.type for value in given])
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(types.int64, here, there, types.StarArgTuple(numbers)), build


@kernel()
def advance(rows_of_rule, row_of_rule, words, other, height, wrap, generations, k, tile_rows, tile_columns, tickets):
    """Take tiles until all passes are done; the result is in `words` if their number is even, else in `other`."""
    rows, columns = words.shape
    across = -(-columns // tile_columns)
    tiles = -(-rows // tile_rows) * across
    passes = -(-generations // k)
    more_rows = k if tile_rows < rows else 0
    more_columns = k if tile_columns < columns else 0
    # what is computed beyond a tile's last column and row, up to a whole number of vectors, is never looked at
    stride = -(-(tile_columns + 2 * more_columns) // 8) * 8 + 2 * BORDER
    here = np.zeros((tile_rows + 2 * more_rows + 5, stride), np.uint64)
    there = np.zeros_like(here)
    while True:
        ticket = add(tickets, TAKEN, 1)
        number, tile = ticket // tiles, ticket % tiles
        if number >= passes:
            return
        wait(tickets, number * tiles)
        source, target = (words, other) if number % 2 == 0 else (other, words)
        steps = min(k, generations - number * k)
        top, left = tile // across * tile_rows, tile % across * tile_columns
        bottom, right = min(top + tile_rows, rows), min(left + tile_columns, columns)
        first, start = top - more_rows, left - more_columns
        high, wide = bottom - first + more_rows, right - start + more_columns
        for i in range(high):
            load(here[i + 1], source, first + i, start, wide, height, wrap)
        for step in range(steps):
            if more_rows == 0 and rows > 1:
                close_rows(here, high, wide, height, wrap)
            close_columns(here, high, wide, start, columns, wrap)
            if rows == 1:
                call(row_of_rule, here, there, stride, -(-wide // 8) * 8, height, np.uint64(wrap))
            elif more_rows:
                call(rows_of_rule, here, there, stride, -(-wide // 8) * 8, step + 2, high - step - 1)
            else:
                call(rows_of_rule, here, there, stride, -(-wide // 8) * 8, 1, high)
            if not wrap:
                clear_outside(there, first, high, wide, rows, height)
            here, there = there, here
        for i in range(top, bottom):
            row, out = here[i - first + 1, BORDER + more_columns :], target[i, left:right]
            for x in range(right - left):
                out[x] = row[x]
        add(tickets, DONE, 1)


@kernel()
def wait(tickets, tiles):
    """Return when `tiles` tiles are done: those who took them are at work."""
    spins = 0
    while add(tickets, DONE, 0) < tiles:
        spins += 1
        if CAN_YIELD and spins > SPINS:
            sched_yield()


@cache
def rows_of(birth: int, survive: int) -> int:
    """Return the address of the kernel that advances rows by one rule: bit n of `birth`, `survive` for n neighbours."""

    @kernel_address(ROWS)
    def rows(here, there, stride, count, first, last):
        """Write rows `first` to `last`, four at a time; up to three below are overwritten."""
        near, out = numba.carray(here, (last + 6, stride)), numba.carray(there, (last + 6, stride))
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
    def only_row(here, there, stride, count, height, wrap):
        row, out = numba.carray(here, (2, stride))[1, BEFORE:], numba.carray(there, (2, stride))[1, BEFORE:]
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
            out[x] = lives(xl ^ cl, yl | (xl & cl), xr ^ cr, yr | (xr & cr), am ^ cm, am & cm, bm, birth, survive)

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
    n01 = pick(odd, kept(1, alive, birth, survive), kept(0, alive, birth, survive))
    n23 = pick(odd, kept(3, alive, birth, survive), kept(2, alive, birth, survive))
    n45 = pick(odd, kept(5, alive, birth, survive), kept(4, alive, birth, survive))
    n67 = pick(odd, kept(7, alive, birth, survive), kept(6, alive, birth, survive))
    fewer = pick(four, pick(two, n67, n45), pick(two, n23, n01))
    return pick(eight, kept(8, alive, birth, survive), fewer)


@kernel(inline="always")
def pick(choice, one, other):
    """Return the bits of `one` where those of `choice` are set, else those of `other`."""
    return other ^ (choice & (one ^ other))


@kernel(inline="always")
def kept(count, alive, birth, survive):
    """Return the bits that live on with `count` neighbours."""
    born = np.uint64(0) - np.uint64((birth >> count) & 1)
    stays = np.uint64(0) - np.uint64((survive >> count) & 1)
    return pick(alive, stays, born)


@kernel()
def load(out, words, i, left, count, height, wrap):
    """Copy columns `left` to `left + count` of word row `i`; what lies beyond an edge comes from where it is."""
    columns = words.shape[1]
    start = BORDER
    while count > 0:
        column = left % columns
        width = min(count, columns - column)
        if not wrap and not 0 <= left < columns:
            width = min(count, -left if left < 0 else count)
            out[start : start + width] = 0
        else:
            move(out[start:], words[:, column:], i, width, height, wrap)
        start, left, count = start + width, left + width, count - width


@kernel()
def move(out, words, i, count, height, wrap):
    """Copy `count` words of row `i`, which is between -R and 2R - 1."""
    rows = words.shape[0]
    if 0 <= i < rows:
        row = words[i]
        for x in range(count):
            out[x] = row[x]
        return
    if i < 0:
        row, cell = words[i + rows], i % height
        patch, bit = words[cell % rows], np.uint64(cell // rows)
        for x in range(count):
            out[x] = row[x] << ONE | (((patch[x] >> bit) & ONE) if wrap else np.uint64(0))
    else:
        row, cell = words[i - rows], (63 * rows + i) % height
        patch, bit = words[cell % rows], np.uint64(cell // rows)
        for x in range(count):
            out[x] = row[x] >> ONE | ((((patch[x] >> bit) & ONE) << LAST) if wrap else np.uint64(0))


@kernel(inline="always")
def close_rows(tile, high, wide, height, wrap):
    """Write what lies above and below a tile that has all word rows."""
    before, after = (height - 1) % height, (64 * high) % height
    above, last, patch, bit = tile[0], tile[high], tile[before % high + 1], np.uint64(before // high)
    for x in range(BORDER, BORDER + wide):
        above[x] = last[x] << ONE | (((patch[x] >> bit) & ONE) if wrap else np.uint64(0))
    below, first, patch, bit = tile[high + 1], tile[1], tile[after % high + 1], np.uint64(after // high)
    for x in range(BORDER, BORDER + wide):
        below[x] = first[x] >> ONE | ((((patch[x] >> bit) & ONE) << LAST) if wrap else np.uint64(0))


@kernel(inline="always")
def close_columns(tile, high, wide, left, columns, wrap):
    """Write what lies left and right of a tile: where it has all columns the other side, where edges are dead nothing.

    Outside dead edges only the nearest column must be empty: what is born further out can't get past it.
    """
    if wrap:
        if wide == columns:
            for i in range(high + 2):
                row = tile[i]
                row[BORDER - 1], row[BORDER + wide] = row[BORDER + wide - 1], row[BORDER]
    else:
        for i in range(high + 2):
            row = tile[i]
            if left <= 0:
                row[BORDER - 1 - left] = 0
            if left + wide >= columns:
                row[BORDER + columns - left] = 0


@kernel()
def clear_outside(tile, top, high, wide, rows, height):
    """Empty the nearest row outside each dead edge, -1 and `height`, in all the word rows that have a lane of it."""
    if top <= -1:
        row = tile[-top]
        for x in range(BORDER - 1, BORDER + wide + 1):
            row[x] &= ~ONE
    for i in range(height % rows - rows, top + high, rows):
        if i >= top and height - i < 64 * rows:
            row, keep = tile[i - top + 1], ~(ONE << np.uint64((height - i) // rows))
            for x in range(BORDER - 1, BORDER + wide + 1):
                row[x] &= keep
