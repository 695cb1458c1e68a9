"""Game of Life: cells a second by engine and board, beside SciPy's tutorial line measured in the same run."""

import time

import numpy as np
import torch
from scipy.signal import convolve2d

from benchmarks.report import Row
from course import life

# (side, generations for each engine): long enough to time, short enough to wait for
_SIZES = {
    50: {"scipy": 200, "conv": 200, "roll": 400, "packed": 400},
    1024: {"scipy": 3, "conv": 4, "roll": 40, "packed": 400},
    8192: {"scipy": 1, "conv": 1, "roll": 1, "packed": 192},
}
_LIMITS = {1024: "≥ 4; tuned C 121", 8192: "≥ 10; tuned C 125–137"}


def rows():
    """Yield a row an engine and size: 10⁹ cells a second, packing and unpacking included; limits from rivals.md."""
    for side, engines in _SIZES.items():
        board = life.random_board(side, side, 0.35, torch.Generator().manual_seed(1))
        cells = board.numpy()
        tutorial = side * side * engines["scipy"] / _median(lambda c=cells, n=engines["scipy"]: _tutorial(c, n)) / 1e9
        for engine, generations in engines.items():
            seconds = _median(lambda b=board, g=generations, e=engine: life.run(b, g, e))
            speed = side * side * generations / seconds / 1e9
            limit = _LIMITS.get(side, "") if engine == "packed" else ""
            yield Row(f"{engine}, {side}², {generations} generations", speed, "Gcell/s", "tutorial", tutorial, limit)


def _tutorial(cells, generations):
    kernel = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    for _ in range(generations):
        counts = convolve2d(cells, kernel, mode="same", boundary="wrap")
        cells = ((counts == 3) | ((cells == 1) & (counts == 2))).astype(np.uint8)
    return cells


def _median(work, repeats=3):
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return sorted(times)[repeats // 2]
