"""Kernels that put cells into the lanes of words and take them out again: the layout is in `course.life.kernels`."""

import numpy as np

from course.compiled import kernel

BYTE = np.uint64(255)


@kernel()
def pack(board, words, wrap, first, last):
    """Fill rows `first` ≤ i < `last` of `words`, uint64 (R, W), with the cells of `board`, uint8 (H, W).

    Return whether all those cells are 0 or 1.
    """
    columns = board.shape[1]
    rows = words.shape[0]
    eighths = np.zeros((8, columns), np.uint8)
    nothing = np.zeros(columns, np.uint8)
    odd = np.zeros(columns, np.uint8)
    for i in range(first, last):
        for byte in range(8):
            gather(eighths[byte], board, 8 * byte * rows + i, rows, nothing, wrap, odd)
        join(words[i], eighths)
    return odd.max() <= 1


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
def unpack(words, board, first, last):
    """Fill those rows of `board`, uint8 (H, W), that rows `first` ≤ i < `last` of `words`, uint64 (R, W), hold."""
    height, columns = board.shape
    rows = words.shape[0]
    eighth = np.zeros(columns, np.uint8)
    for i in range(first, last):
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
