"""Boards of Life that every contestant reads from one file, and a referee that none of them shares a line with.

A file holds the cells as bits, row by row, the first cell in the highest bit of the first byte.
"""

import json
import zlib
from pathlib import Path

import numpy as np


def save(folder: Path, height: int, width: int, density: float = 0.35) -> Path:
    """Write a random board, the same for a size each time, and return its file."""
    path = folder / f"{height}x{width}.bits"
    folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        cells = np.random.default_rng(height * 100_003 + width).random((height, width)) < density
        path.write_bytes(np.packbits(cells).tobytes())
    return path


def load(path: str | Path, height: int, width: int) -> np.ndarray:
    """Return the board of a file as uint8 (height, width) of 0 and 1."""
    bits = np.fromfile(path, np.uint8)
    return np.unpackbits(bits)[: height * width].reshape(height, width)


def checksum(cells: object) -> int:
    """Return the CRC-32 of a board's bits: what contestants answer."""
    return zlib.crc32(np.packbits(np.asarray(cells).astype(bool)).tobytes())


def expected(path: Path, height: int, width: int, generations: int, rule: str = "B3/S23", wrap: bool = True) -> int:
    """Return the checksum of the board after `generations`, as the referee has it; kept beside the board's file."""
    note, key = path.with_suffix(".json"), f"{generations} {rule} {wrap}"
    known = json.loads(note.read_text()) if note.exists() else {}
    if key not in known:
        size = height * width
        board = int.from_bytes(path.read_bytes(), "big") >> (-size % 8)
        board = referee(board, height, width, generations, rule, wrap)
        known[key] = zlib.crc32((board << (-size % 8)).to_bytes(-(-size // 8), "big"))
        note.write_text(json.dumps(known))
    return known[key]


def referee(board: int, height: int, width: int, generations: int, rule: str, wrap: bool) -> int:
    """Return the board, one whole number with a bit a cell, the last cell lowest, after `generations` of `rule`.

    Python's whole numbers add the neighbours of all cells at once; as it has no arrays and no words, it has none of
    the mistakes that are made with them.
    """
    full = (1 << height * width) - 1
    last = sum(1 << row * width for row in range(height))  # the cells of the last column
    first, bottom = last << (width - 1), (1 << width) - 1
    born, stays = ({int(digit) for digit in part[1:]} for part in rule.split("/"))
    for _ in range(generations):
        rows = [board, (board << width | board >> (height - 1) * width) & full if wrap else board << width & full]
        rows.append(board >> width | (board & bottom) << (height - 1) * width if wrap else board >> width)
        counts = [0, 0, 0, 0]  # bits of the number of neighbours
        for number, row in enumerate(rows):
            right = row << 1 & ~last & full | (row >> (width - 1) & last if wrap else 0)
            left = row >> 1 & ~first | (row << (width - 1) & first if wrap else 0)
            for cells in (left, right, *([row] if number else [])):
                for place in range(4):
                    counts[place], cells = counts[place] ^ cells, counts[place] & cells
        board = _alive(counts, born, full) & ~board | _alive(counts, stays, full) & board
    return board


def _alive(counts, numbers, full):
    found = 0
    for number in numbers:
        cells = full
        for place, plane in enumerate(counts):
            cells &= plane if number >> place & 1 else ~plane
        found |= cells
    return found
