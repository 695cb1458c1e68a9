"""Curves as the page draws them: pairs of plain numbers, and no more of them than can be told apart."""

from math import isfinite

import numpy as np


def pairs(x: np.ndarray, y: np.ndarray, most: int) -> list[list]:
    """Return [x, y] at about `most` places of two arrays: x to thousandths, y in four digits, None if not finite."""
    every = max(1, len(x) // most)
    points = zip(x[::every].tolist(), y[::every].tolist(), strict=True)
    return [[round(at, 3), float(f"{value:.4g}") if isfinite(value) else None] for at, value in points]
