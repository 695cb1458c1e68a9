"""Pattern files in the three formats people exchange: RLE (`.rle`), plaintext (`.cells`) and Life 1.06 (`.lif`).

Those that come with the course are RLE files in `course/life/patterns`, and known by name.
"""

import difflib
import re
from pathlib import Path

import torch

from course.life.board import check_board, to_text
from course.life.rule import Rule

_FOLDER = Path(__file__).parent / "patterns"
_LARGEST = 1 << 26  # cells; a file of a few bytes may claim any size


def pattern(name: str) -> torch.Tensor:
    """Return the pattern called `name` as a board just large enough to hold it.

    >>> pattern("glider").tolist()
    [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    """
    path = pattern_file(name)
    rule_entry = re.search(r"^\s*x\s*=.*rule\s*=\s*(\S+)", path.read_text(encoding="utf-8"), re.M)
    return read_pattern(path, rule_entry[1] if rule_entry else "B3/S23")


def pattern_file(name: str) -> Path:
    """Return the path of the file that holds the pattern called `name`."""
    names = pattern_names()
    if name not in names:
        (near,) = difflib.get_close_matches(str(name), names, n=1, cutoff=0)
        raise ValueError(f"pattern({name!r}): the patterns are {', '.join(names)}.\nNearest: pattern({near!r}).")
    return _FOLDER / f"{name}.rle"


def pattern_names() -> list[str]:
    """Return the names of all patterns, in alphabetical order."""
    return sorted(path.stem for path in _FOLDER.glob("*.rle"))


def read_pattern(path: str | Path, rule: str | Rule = "B3/S23") -> torch.Tensor:
    """Return the board, `torch.uint8` (H, W), in the file at `path`; the format is recognised by what it holds.

    A file that names a rule other than `rule` is an error: its pattern would not do what it is known for. Malformed
    files are a ValueError that names the line and the legal form. Formats: https://conwaylife.com/wiki/File_formats
    """
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
    wanted = Rule.parse(rule)
    try:
        board, own_rule = _parse(lines)
        other = own_rule is not None and Rule.parse(own_rule) != wanted
    except ValueError as wrong:
        raise ValueError(f"read_pattern({Path(path).name!r}): {wrong}") from None
    if other:
        raise ValueError(
            f"read_pattern({Path(path).name!r}): the file is for {own_rule}, not {wanted}.\n"
            f"Read it with rule={own_rule!r} and pass the same rule to step or run."
        )
    return board


def write_pattern(board: torch.Tensor, path: str | Path, rule: str | Rule = "B3/S23") -> None:
    """Write `board` to the file at `path`, whose ending chooses the format: `.rle`, `.cells`, or `.lif` / `.life`.

    Only RLE can hold the rule. Life 1.06 lists living cells, so that dead borders are lost in it.
    """
    check_board(board, "write_pattern(board=…)")
    writers = {".rle": _rle_text, ".cells": _cells_text, ".lif": _life106_text, ".life": _life106_text}
    path = Path(path)
    if path.suffix not in writers:
        raise ValueError(f"write_pattern({path.name!r}): the ending must be one of {', '.join(writers)}.")
    path.write_text(writers[path.suffix](board, Rule.parse(rule)), encoding="utf-8")


def _parse(lines):
    """Return (board, rule named in the file or None)."""
    if lines and lines[0][1].startswith("#Life 1.06"):
        return _from_life106(lines[1:]), None
    if any(re.match(r"x\s*=", line) for _, line in lines):
        return _from_rle([(n, line) for n, line in lines if line and not line.startswith("#")])
    return _from_cells([(n, line) for n, line in lines if not line.startswith("!")]), None


def _from_rle(lines):
    number, head = lines[0]
    size_and_rule = re.fullmatch(r"x\s*=\s*(\d+)\s*,\s*y\s*=\s*(\d+)\s*(?:,\s*rule\s*=\s*(\S+)\s*)?", head)
    if not size_and_rule:
        raise ValueError(f"line {number} is {head!r}; it must read 'x = 3, y = 3, rule = B3/S23'.")
    width, height = int(size_and_rule[1]), int(size_and_rule[2])
    board = _blank(height, width, number)
    row = column = 0
    for number, line in lines[1:]:
        for run in re.finditer(r"(\d*)([bo$!])|\S", line):
            if not run[2]:
                raise ValueError(
                    f"line {number}, character {run.start() + 1}: {run[0]!r}; "
                    "legal are b (dead), o (alive), $ (next row), ! (end), each with a count before it."
                )
            times, tag = int(run[1] or 1), run[2]
            if tag == "!":
                return board, size_and_rule[3]
            if tag == "$":
                row, column = row + times, 0
                continue
            if tag == "o" and (row >= height or column + times > width):
                raise ValueError(
                    f"line {number}: row {row + 1} has cells beyond the x = {width}, y = {height} of the head."
                )
            if tag == "o":
                board[row, column : column + times] = 1
            column += times
    raise ValueError(f"line {number}: the file ends without '!', the sign that the pattern is complete.")


def _from_cells(lines):
    while lines and not lines[-1][1]:
        lines = lines[:-1]
    width = max((len(line) for _, line in lines), default=0)
    if not width:
        raise ValueError("line 1: no cells; a .cells file has lines of '.' and 'O', comments begin with '!'.")
    board = _blank(len(lines), width, lines[0][0])
    for row, (number, line) in enumerate(lines):
        for column, sign in enumerate(line):
            if sign not in ".O*":
                raise ValueError(
                    f"line {number}, character {column + 1}: {sign!r}; legal are '.' (dead) and 'O' (alive)."
                )
            board[row, column] = sign != "."
    return board


def _from_life106(lines):
    living = []
    for number, line in lines:
        if not line or line.startswith("#"):
            continue
        if not re.fullmatch(r"-?\d+\s+-?\d+", line):
            raise ValueError(f"line {number} is {line!r}; it must hold two whole numbers, x and y, such as '-1 2'.")
        column, row = map(int, line.split())
        living.append((row, column))
    if not living:
        return torch.zeros(1, 1, dtype=torch.uint8)
    top, left = min(row for row, _ in living), min(column for _, column in living)
    bottom, right = max(row for row, _ in living), max(column for _, column in living)
    board = _blank(bottom - top + 1, right - left + 1, lines[0][0])
    for row, column in living:
        board[row - top, column - left] = 1
    return board


def _blank(height, width, number):
    if not 0 < height * width <= _LARGEST:
        raise ValueError(f"line {number}: a pattern of {height} × {width} cells; legal are 1 to {_LARGEST:,} cells.")
    return torch.zeros(height, width, dtype=torch.uint8)


def _rle_text(board, rule):
    height, width = board.shape
    rows = []
    for row in board.tolist():
        text = "".join("o" if cell else "b" for cell in row).rstrip("b")
        rows.append(re.sub(r"(.)\1+", lambda run: f"{len(run[0])}{run[1]}", text))
    body = re.sub(r"\$\$+", lambda run: f"{len(run[0])}$", "$".join(rows).rstrip("$")) + "!"
    lines = re.findall(r".{0,69}[bo$!]", body)  # 70 characters are the format's own limit; no count leaves its sign
    return "\n".join([f"x = {width}, y = {height}, rule = {rule}", *lines, ""])


def _cells_text(board, rule):
    return to_text(board) + "\n"


def _life106_text(board, rule):
    return "#Life 1.06\n" + "".join(f"{column} {row}\n" for row, column in board.nonzero().tolist())
