"""The kernels of the packed engine: 64 cells in a word, compiled for this processor; tiles, their edges, and threads.

Layout: a board of H rows is cut into 64 lanes of R = ⌈H / 64⌉ rows, and bit j of word (i, c) is the cell in row
(j·R + i) mod H, column c. A neighbour above, below or beside is the neighbouring word, the same bit. The lanes of a
height that 64 doesn't divide overlap: on a torus the surplus bits are a second copy of rows further up, which live the
same life; where edges are dead a mask keeps them empty. Above word row 0 lies word row R - 1, moved by one bit, and the
one bit that has no lane before it is patched; below word row R - 1 in the same way.

Work is cut into tiles: some word rows of some columns, with k ghosts on each side that is cut, advanced k generations
while they lie in the cache. Threads take tiles by tickets, so that any number of them, one too, does all the work and
none waits for a thread that never came. numba's own threads are not used: they don't survive a fork.

A thread waits for tiles of the pass before, without a deadline: a thread that has taken a tile has its memory already,
calls nothing that waits or raises, and no interrupt reaches it; only the end of the process stops it.
"""

import sys

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from course.compiled import kernel

ONE = np.uint64(1)
LAST = np.uint64(63)
TAKEN, DONE = 0, 8  # places in `tickets`, a cache line apart
BORDER = 8  # words before a tile's first column: one is needed, eight keep it where vectors begin
SPINS = 2000  # looks at a counter, a few microseconds, before the processor is offered to others
CAN_YIELD = sys.platform != "win32"

sched_yield = types.ExternalFunction("sched_yield", types.int32())


def new_tickets() -> np.ndarray:
    """Return the counters by which threads share the work of one call."""
    return np.zeros(16, np.int64)


@intrinsic
def add(typing, array, place, amount):
    """Add `amount` to `array[place]`, with no other thread in between; return what was there."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), build


@intrinsic
def call(typing, address, source, target, *numbers):
    """Call the function at `address` with the places of two arrays' first elements and whole numbers of 64 bits."""

    def build(context, builder, signature, arguments):
        arrays = [context.make_array(signature.args[n])(context, builder, arguments[n]).data for n in (1, 2)]
        values = arrays + list(builder.extract_value(arguments[3], n) for n in range(len(signature.args[3])))
        function = ir.FunctionType(ir.VoidType(), [value.type for value in values])
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), values)
        return context.get_dummy_value()

    return types.void(types.int64, source, target, types.StarArgTuple(numbers)), build


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
    tile, next_tile = room(tile_rows + 2 * more_rows + 5, stride), room(tile_rows + 2 * more_rows + 5, stride)
    while True:
        ticket = add(tickets, TAKEN, 1)
        number, index = ticket // tiles, ticket % tiles
        if number >= passes:
            return
        wait(tickets, number * tiles)
        source, target = (words, other) if number % 2 == 0 else (other, words)
        steps = min(k, generations - number * k)
        top, left = index // across * tile_rows, index % across * tile_columns
        bottom, right = min(top + tile_rows, rows), min(left + tile_columns, columns)
        first, start = top - more_rows, left - more_columns
        high, wide = bottom - first + more_rows, right - start + more_columns
        count = -(-wide // 8) * 8
        for i in range(high):
            load(tile[i + 1], source, first + i, start, wide, height, wrap)
        if rows == 1 and more_columns == 0:
            tile, next_tile = advance_row(row_of_rule, tile, next_tile, steps, columns, height, wrap)
            steps = 0
        for step in range(steps):
            if more_rows == 0 and rows > 1:
                close_rows(tile, high, wide, height, wrap)
            close_columns(tile, high, wide, start, columns, wrap)
            if rows == 1:
                call(row_of_rule, tile, next_tile, stride, count, height, np.uint64(wrap), lanes(height, wrap))
            else:
                first_row, last_row = (step + 2, high - step - 1) if more_rows else (1, high)
                call(rows_of_rule, tile, next_tile, stride, count, first_row, last_row)
            if not wrap and rows > 1:
                clear_outside(next_tile, first, high, wide, rows, height)
            tile, next_tile = next_tile, tile
        for i in range(top, bottom):
            row, out = tile[i - first + 1, BORDER + more_columns :], target[i, left:right]
            for x in range(right - left):
                out[x] = row[x]
        add(tickets, DONE, 1)


@kernel()
def advance_row(row_of_rule, tile, next_tile, steps, columns, height, wrap):
    """Advance a tile that is a whole board of one word row; return the array that holds the result, and the other.

    A loop of its own: within that of all tiles a board of 50² takes a third longer.
    """
    stride, meet, alive = tile.shape[1], np.uint64(wrap), lanes(height, wrap)
    for _ in range(steps):
        row = tile[1]
        row[BORDER - 1], row[BORDER + columns] = row[BORDER + columns - 1] * meet, row[BORDER] * meet
        call(row_of_rule, tile, next_tile, stride, -(-columns // 8) * 8, height, meet, alive)
        tile, next_tile = next_tile, tile
    return tile, next_tile


@kernel()
def lanes(height, wrap):
    """Return the lanes of a word in which a cell of one word row may live: where edges are dead, none beyond them."""
    return ~np.uint64(0) if wrap else ~np.uint64(0) >> np.uint64(64 - height)


@kernel()
def room(rows, columns):
    """Return an empty array that begins where a line of the cache does: so do its rows, of whole lines."""
    words = np.zeros(rows * columns + 8, np.uint64)
    start = -words.ctypes.data // 8 % 8
    return words[start : start + rows * columns].reshape((rows, columns))


@kernel()
def wait(tickets, tiles):
    """Return when `tiles` tiles are done: those who took them are at work."""
    spins = 0
    while add(tickets, DONE, 0) < tiles:
        spins += 1
        if CAN_YIELD and spins > SPINS:
            sched_yield()


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
    before, after, meet = (height - 1) % height, (64 * high) % height, np.uint64(wrap)
    above, last, patch, bit = tile[0], tile[high], tile[before % high + 1], np.uint64(before // high)
    for x in range(BORDER, BORDER + wide):
        above[x] = last[x] << ONE | (patch[x] >> bit) & meet
    below, first, patch, bit = tile[high + 1], tile[1], tile[after % high + 1], np.uint64(after // high)
    for x in range(BORDER, BORDER + wide):
        below[x] = first[x] >> ONE | ((patch[x] >> bit) & meet) << LAST


@kernel(inline="always")
def close_columns(tile, high, wide, left, columns, wrap):
    """Write what lies left and right of a tile: where it has all columns the other side, where edges are dead nothing.

    Outside dead edges only the nearest column must be empty: what is born further out can't get past it.
    """
    if wide == columns and (wrap or left == 0):
        meet = np.uint64(wrap)  # no branch in the loop: with one a small board with dead edges takes half as long again
        for i in range(high + 2):
            row = tile[i]
            row[BORDER - 1], row[BORDER + wide] = row[BORDER + wide - 1] * meet, row[BORDER] * meet
    elif not wrap:
        if left <= 0:
            empty_column(tile, high, BORDER - 1 - left)
        if left + wide >= columns:
            empty_column(tile, high, BORDER + columns - left)


@kernel()
def empty_column(tile, high, x):
    """Empty a column of a tile, its rows above and below included."""
    for i in range(high + 2):
        tile[i, x] = 0


@kernel(inline="always")
def clear_outside(tile, top, high, wide, rows, height):
    """Empty the nearest row outside each dead edge, -1 and `height`, in all the word rows that have a lane of it."""
    if top <= -1:
        keep_only(tile[-top], wide, ~ONE)
    for i in range(height % rows - rows, top + high, rows):
        if i >= top and height - i < 64 * rows:
            keep_only(tile[i - top + 1], wide, ~(ONE << np.uint64((height - i) // rows)))


@kernel()
def keep_only(row, wide, bits):
    """Clear all other bits than `bits` in a tile's row."""
    words = row[BORDER : BORDER + wide]  # where vectors begin: what was just written there is read back at once
    for x in range(len(words)):
        words[x] &= bits
