"""Kernels that put cells into the lanes of words and take them out again: the layout is in `course.life.kernels`.

Of the other file only `add` is compiled into these: whoever changes that, touches this file too, for numba to notice.
"""

import numpy as np

from course.compiled import kernel
from course.life.kernels import TAKEN, WRONG, add

BYTE = np.uint64(255)


@kernel()
def pack(board, words, wrap, tickets):
    """Take word rows until `words`, uint64 (R, W), has the cells of `board`, uint8 (H, W).

    `tickets[WRONG]` is above 0 if a cell is above 1.
    """
    height, columns = board.shape
    rows = words.shape[0]
    eighths = np.zeros((8, columns), np.uint8)
    nothing = np.zeros(columns, np.uint8)
    odd = np.zeros(columns, np.uint8)
    while True:
        i = add(tickets, TAKEN, 1)
        if i >= rows:
            add(tickets, WRONG, np.int64(odd.max() > 1))
            return
        for byte in range(8):
            first = 8 * byte * rows + i
            gather(eighths[byte], board, first, rows, nothing, wrap, odd)
        join(words[i], eighths)


@kernel()
def lane(board, row, nothing, wrap):
    """Return the cells of `row`, which may lie beyond the last one."""
    height = board.shape[0]
    if row < height:
        return board[row]
    return board[row % height] if wrap else nothing


@kernel()
def gather(out, board, first, rows, nothing, wrap, odd):
    """Write the bytes made of eight rows of `board`, `rows` apart."""
    a, b = lane(board, first, nothing, wrap), lane(board, first + rows, nothing, wrap)
    c, d = lane(board, first + 2 * rows, nothing, wrap), lane(board, first + 3 * rows, nothing, wrap)
    e, f = lane(board, first + 4 * rows, nothing, wrap), lane(board, first + 5 * rows, nothing, wrap)
    g, h = lane(board, first + 6 * rows, nothing, wrap), lane(board, first + 7 * rows, nothing, wrap)
    for x in range(len(out)):
        odd[x] |= a[x] | b[x] | c[x] | d[x] | e[x] | f[x] | g[x] | h[x]
        out[x] = a[x] | b[x] << 1 | c[x] << 2 | d[x] << 3 | e[x] << 4 | f[x] << 5 | g[x] << 6 | h[x] << 7


@kernel()
def join(out, eighths):
    """Write the words whose bytes are the rows of `eighths`."""
    a, b, c, d = eighths[0], eighths[1], eighths[2], eighths[3]
    e, f, g, h = eighths[4], eighths[5], eighths[6], eighths[7]
    for x in range(len(out)):
        out[x] = (
            np.uint64(a[x])
            | np.uint64(b[x]) << np.uint64(8)
            | np.uint64(c[x]) << np.uint64(16)
            | np.uint64(d[x]) << np.uint64(24)
            | np.uint64(e[x]) << np.uint64(32)
            | np.uint64(f[x]) << np.uint64(40)
            | np.uint64(g[x]) << np.uint64(48)
            | np.uint64(h[x]) << np.uint64(56)
        )


@kernel()
def unpack(words, board, tickets):
    """Take word rows until `board`, uint8 (H, W), has the cells that `words`, uint64 (R, W), hold."""
    height, columns = board.shape
    rows = words.shape[0]
    eighth = np.zeros(columns, np.uint8)
    while True:
        i = add(tickets, TAKEN, 1)
        if i >= rows:
            return
        row = words[i]
        for byte in range(8):
            shift = np.uint64(8 * byte)
            for x in range(columns):
                eighth[x] = (row[x] >> shift) & BYTE
            for bit in range(8):
                y = (8 * byte + bit) * rows + i
                if y < height:
                    out, low = board[y], np.uint8(bit)
                    for x in range(columns):
                        out[x] = (eighth[x] >> low) & 1
