"""Boards of Life that every contestant reads from one file, and a referee that none of them shares a line with.

A file holds the cells as bits, row by row, the first cell in the highest bit of the first byte.
"""

import json
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import whole_file

KNOWN = Path(__file__).with_suffix(".json")


def save(folder: Path, height: int, width: int, density: float = 0.35) -> Path:
    """Write a random board, the same for a size each time, and return its file."""
    path = folder / f"{height}x{width}.bits"
    if not path.exists():
        cells = np.random.default_rng(height * 100_003 + width).random((height, width)) < density
        whole_file.write(path, np.packbits(cells).tofile)
    return path


def load(path: str | Path, height: int, width: int) -> np.ndarray:
    """Return the board of a file as uint8 (height, width) of 0 and 1."""
    bits = np.fromfile(path, np.uint8)
    return np.unpackbits(bits)[: height * width].reshape(height, width)


def checksum(cells: object) -> int:
    """Return the CRC-32 of a board's bits: what contestants answer."""
    return zlib.crc32(np.packbits(np.asarray(cells).astype(bool)).tobytes())


def expected(path: Path, height: int, width: int, generations: int, rule: str = "B3/S23", wrap: bool = True) -> int:
    """Return the checksum of the board after `generations`, as the referee has it, kept beside the board's file.

    What he worked out for the boards of `benchmarks.topics.life`, some of which take him a minute, is in `boards.json`.
    """
    note, begins = path.with_suffix(".json"), path.read_bytes()
    key = f"{height}x{width} {zlib.crc32(begins):08x} {generations} {rule} {'torus' if wrap else 'dead edges'}"
    known = json.loads(KNOWN.read_text()) | (json.loads(note.read_text()) if note.exists() else {})
    if key not in known:
        size = height * width
        board = int.from_bytes(begins, "big") >> (-size % 8)
        board = referee(board, height, width, generations, rule, wrap)
        known[key] = zlib.crc32((board << (-size % 8)).to_bytes(-(-size // 8), "big"))
        whole_file.write_text(note, json.dumps(known))
    return known[key]


def referee(board: int, height: int, width: int, generations: int, rule: str, wrap: bool, band: int = 1 << 18) -> int:
    """Return the board, one whole number with a bit a cell, the last cell lowest, after `generations` of `rule`.

    Python's whole numbers add the neighbours of all cells at once; as it has no arrays and no words, it has none of
    the mistakes that are made with them. It is worked out in bands of rows, of `band` cells or a few more, which the
    processor's cache holds.
    """
    rows = max(1, min(height, band // width))
    heights = [min(rows, height - first) for first in range(0, height, rows)]  # from the last rows upwards
    bands = _cut(board, heights, width)
    born, stays = ({int(digit) for digit in part[1:]} for part in rule.split("/"))
    for _ in range(generations):
        below = [one >> (high - 1) * width for one, high in zip(bands, heights, strict=True)]
        above = [one & _full(1, width) for one in bands]
        if not wrap:
            below[-1] = above[0] = 0
        ghosts = zip([below[-1], *below[:-1]], bands, [*above[1:], above[0]], heights, strict=True)
        bands = [
            _generation(under | one << width | over << (high + 1) * width, high + 2, width, born, stays, wrap)
            for under, one, over, high in ghosts
        ]
    return _joined(bands, heights, width)


def _cut(board, heights, width):
    if len(heights) == 1:
        return [board]
    half = len(heights) // 2
    rows = sum(heights[:half])
    lower, upper = board & _full(rows, width), board >> rows * width
    return _cut(lower, heights[:half], width) + _cut(upper, heights[half:], width)


def _joined(bands, heights, width):
    if len(bands) == 1:
        return bands[0]
    half = len(bands) // 2
    upper = _joined(bands[half:], heights[half:], width) << sum(heights[:half]) * width
    return _joined(bands[:half], heights[:half], width) | upper


def _generation(board, height, width, born, stays, wrap):
    """Return all rows but the first and the last after a generation; `wrap`: a row's end is beside its beginning."""
    full, last = _full(height, width), _last_column(height, width)
    first = last << (width - 1)
    but_last, but_first = full ^ last, full ^ first
    counts = [0, 0, 0, 0]  # bits of the number of neighbours
    for number, row in enumerate((board, board << width & full, board >> width)):
        right = row << 1 & but_last | (row >> (width - 1) & last if wrap else 0)
        left = row >> 1 & but_first | (row << (width - 1) & first if wrap else 0)
        for cells in (left, right, *([row] if number else [])):
            for place in range(4):
                counts[place], cells = counts[place] ^ cells, counts[place] & cells
    after = _alive(counts, born, full) & (full ^ board) | _alive(counts, stays, full) & board
    return after >> width & _full(height - 2, width)


@cache
def _last_column(height, width):
    return sum(1 << row * width for row in range(height))


def _full(height, width):
    return (1 << height * width) - 1


def _alive(counts, numbers, full):
    """Return the cells whose number of neighbours is one of `numbers`."""
    planes = [(full ^ plane, plane) for plane in counts]
    found = 0
    for number in numbers:
        cells = full
        for place, plane in enumerate(planes):
            cells &= plane[number >> place & 1]
        found |= cells
    return found
