"""Life by lifelib, the tree of hashed squares of pattern hunters. Its plane has no edge: the torus is laid around."""

import numpy as np

from benchmarks.boards import checksum, load
from benchmarks.contestant import Work


def tree(board, height, width, generations):
    """lifelib on the torus: `generations` cells of it are laid around the board on each side, then cut off.

    A new tree each time: it knows what it has once worked out.
    """
    import lifelib

    session = lifelib.load_rules("b3s23")  # compiled once, into lifelib's own folder
    first = load(board, height, width)
    wide = np.pad(first, generations, mode="wrap")
    at = np.argwhere(wide)[:, ::-1].copy()
    rows, columns = np.mgrid[generations : generations + height, generations : generations + width]
    read = np.column_stack([columns.ravel(), rows.ravel()])

    def run():
        pattern = session.lifetree(memory=2000).pattern()
        pattern[at] = np.ones(len(at), np.uint64)
        return pattern.advance(generations)[read]

    return Work(run, checksum, warm_ups=1)
