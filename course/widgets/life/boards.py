"""Boards as the Life player takes and sends them: checked, a pattern in the middle, bits for the page, a still."""

import base64

import numpy as np
import torch

from course import life
from course.draw.film import png_of

_LARGEST = 1024  # rows or columns that a page shows 60 times a second


def checked(board: torch.Tensor) -> torch.Tensor:
    """Return a copy of `board`; raises ValueError or TypeError for what is no board, ValueError for one too large."""
    board = life.run(board, 0)  # names what is wrong with it
    if max(board.shape) > _LARGEST:
        raise ValueError(
            f"LifePlayer(board=…): {board.shape[0]} × {board.shape[1]} cells; it shows up to {_LARGEST} a side.\n"
            "Larger boards: course.life.run, and course.widgets.animate for a part of them."
        )
    return board


def in_the_middle(name: str, height: int, width: int) -> torch.Tensor:
    """Return a board of `height` × `width` with the pattern called `name` in its middle; "random" fills all of it."""
    if name == "random":
        return life.random_board(height, width, 0.35, torch.Generator().manual_seed(0))
    cells = life.pattern(name)
    rows, columns = cells.shape
    return life.put(life.empty(height, width), cells, (height - rows) // 2, (width - columns) // 2)


def resized(board: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return a board of `height` × `width`, in its middle what fits of `board`; the page does the same."""
    new = life.empty(height, width)
    down, right = (height - board.shape[0]) // 2, (width - board.shape[1]) // 2
    top, first_column = max(0, -down), max(0, -right)
    part = board[top : top + height, first_column : first_column + width]
    new[max(0, down) : max(0, down) + len(part), max(0, right) : max(0, right) + part.shape[1]] = part
    return new


def bits_of(board: torch.Tensor) -> bytes:
    """Return the cells row by row, eight a byte, the first of them the highest bit."""
    return np.packbits(board.numpy()).tobytes()


def board_of(bits: bytes, height: int, width: int) -> torch.Tensor:
    """Return the board of `height` × `width` whose `bits_of` these are; ValueError for another number of them."""
    if len(bits) != -(-height * width // 8):
        raise ValueError(f"LifePlayer: {len(bits)} bytes for a board of {height} × {width} cells, eight a byte.")
    cells = np.unpackbits(np.frombuffer(bits, np.uint8), count=height * width)
    return torch.from_numpy(cells.reshape(height, width))


def in_base64(binary: bytes) -> str:
    """Return bytes as text, for the data of a page."""
    return base64.b64encode(binary).decode()


def still_of(board: torch.Tensor) -> bytes:
    """Return a PNG of `board` on white, at most 640 × 400 pixels where the cells are fewer, each of whole pixels."""
    cells = board.numpy()
    scale = max(1, min(640 // cells.shape[1], 400 // cells.shape[0], 16))
    return png_of(np.kron(cells, np.ones((scale, scale), np.uint8)), paper="#FFFFFF")
