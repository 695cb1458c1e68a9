"""A board: a `torch.uint8` tensor of shape (height, width), 1 where a cell lives. Making, filling and printing one."""

import torch

_LEGAL = "A board is a torch.uint8 tensor of shape (height, width) that holds 0 and 1"


def empty(height: int, width: int) -> torch.Tensor:
    """Return a board of `height` × `width` dead cells.

    >>> empty(2, 3).tolist()
    [[0, 0, 0], [0, 0, 0]]
    """
    if min(height, width) < 1:
        raise ValueError(f"empty(height={height}, width={width}): a board has at least one row and one column.")
    return torch.zeros(height, width, dtype=torch.uint8)


def random_board(
    height: int, width: int, density: float = 0.5, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return a board on which each cell lives with probability `density`, drawn from `generator` (or torch's own)."""
    if not 0 <= density <= 1:
        raise ValueError(f"random_board(density={density}): a probability between 0 and 1 is needed.")
    empty(height, width)  # names a bad size
    return (torch.rand(height, width, generator=generator) < density).to(torch.uint8)


def put(board: torch.Tensor, pattern: torch.Tensor, row: int = 0, column: int = 0) -> torch.Tensor:
    """Return a copy of `board` with `pattern` written at (`row`, `column`); what reaches past an edge wraps around.

    Both are boards; the pattern's dead cells overwrite too. A pattern larger than the board is a ValueError.
    """
    check_board(board, "put(board=…)")
    check_board(pattern, "put(pattern=…)")
    (height, width), (rows, columns) = board.shape, pattern.shape
    if rows > height or columns > width:
        raise ValueError(
            f"put(pattern=…): the pattern is {rows} × {columns} cells, the board {height} × {width}.\n"
            f"Use a board of at least {rows} × {columns}: empty({max(rows, height)}, {max(columns, width)})."
        )
    filled = board.clone()
    at_rows = (torch.arange(rows) + row) % height
    at_columns = (torch.arange(columns) + column) % width
    filled[at_rows[:, None], at_columns] = pattern
    return filled


def to_text(board: torch.Tensor) -> str:
    """Return the board as lines of `.` (dead) and `O` (alive).

    >>> to_text(torch.tensor([[0, 1], [1, 1]], dtype=torch.uint8))
    '.O\\nOO'
    """
    check_board(board, "to_text(board=…)")
    return "\n".join("".join("O" if cell else "." for cell in row) for row in board.tolist())


def from_text(text: str) -> torch.Tensor:
    """Return the board that lines of `.` and `O` (or `*`) draw; short lines are filled with dead cells.

    >>> from_text(".O\\nOO").tolist()
    [[0, 1], [1, 1]]
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    for number, line in enumerate(lines, start=1):
        wrong = set(line) - set(".O*")
        if wrong:
            raise ValueError(f"from_text: line {number} holds {min(wrong)!r}; a board is drawn with '.', 'O' and '*'.")
    width = max(map(len, lines), default=0)
    if width == 0:
        raise ValueError("from_text: the text is empty; a board has at least one cell, such as '.O.'.")
    return torch.tensor([[int(c != ".") for c in line.ljust(width, ".")] for line in lines], dtype=torch.uint8)


def check_board(board: torch.Tensor, where: str) -> None:
    """Raise unless `board` is a `torch.uint8` tensor (H, W) of 0 and 1; `where` names the argument in the message."""
    check_form(board, where)
    if board.max() > 1:
        row, column = (board > 1).nonzero()[0].tolist()
        value = board[row, column].item()
        raise ValueError(f"{where}: cell ({row}, {column}) is {value}. {_LEGAL}: (board > 0).to(torch.uint8).")


def check_form(board: object, where: str) -> None:
    """Raise unless `board` is a `torch.uint8` tensor (H, W), whatever its cells are."""
    if not isinstance(board, torch.Tensor):
        raise TypeError(f"{where}: got {type(board).__name__}. {_LEGAL}: torch.tensor(cells, dtype=torch.uint8).")
    if board.ndim != 2 or min(board.shape) < 1:
        raise ValueError(f"{where}: got shape {tuple(board.shape)}. {_LEGAL}: life.empty(8, 8) makes one.")
    if board.dtype != torch.uint8:
        raise TypeError(f"{where}: got {board.dtype}. {_LEGAL}: board.to(torch.uint8) after a look at its values.")
