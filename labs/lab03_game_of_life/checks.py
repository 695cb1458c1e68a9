"""Lab 03's exercises: the rule cell by cell, films and repeats of another automaton, patterns written to files first.

Plain numpy: boards are arrays, and torch is not needed to say whether they are right. The oracles are also marking's.
"""

import re
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from course.checks.exercise import Exercise, show

AROUND = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]


def one_generation(board, birth=(3,), survive=(2, 3)):
    """The rule as it is worded: every cell, eight look-ups, indices modulo the size."""
    height, width = board.shape
    following = np.zeros((height, width), np.uint8)
    for row in range(height):
        for column in range(width):
            count = sum(int(board[(row + d) % height, (column + r) % width]) for d, r in AROUND)
            following[row, column] = count in (survive if board[row, column] else birth)
    return following


def by_rule(board, rule):
    """One generation by a rule such as B36/S23."""
    birth, survive = re.fullmatch(r"B(\d*)/S(\d*)", rule).groups()
    return one_generation(board, {int(k) for k in birth}, {int(k) for k in survive})


def many_generations(board, generations):
    """`one_generation`, again and again."""
    for _ in range(generations):
        board = one_generation(board)
    return board


class Parity:
    """Another automaton, for exercises that are given a step: a cell lives next if an odd number of its four do."""

    def __call__(self, board):
        height, width = board.shape
        following = np.zeros((height, width), np.uint8)
        for row in range(height):
            for column in range(width):
                four = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
                following[row, column] = sum(int(board[r % height, c % width]) for r, c in four) % 2
        return following

    def __repr__(self):
        return "parity_step"


def every_frame(board, generations, step):
    """The board and what follows, one after another."""
    frames = [np.array(board)]
    for _ in range(generations):
        frames.append(step(frames[-1]))
    return np.array(frames)


def first_repeat(board, limit, step):
    """Every generation is kept whole and compared with all before it."""
    every = [np.array(board)]
    for generation in range(1, limit + 1):
        every.append(step(every[-1]))
        for start in range(generation):
            if np.array_equal(every[start], every[generation]):
                return start, generation - start
    return limit, 0


class PatternFile(str):
    """The path of a pattern's file that knows the `board` it was written from."""

    def __repr__(self):
        return f"{Path(self).name!r}, which holds {self.text!r},"


def rle_text(board, columns=70, comments="", rule=", rule = B3/S23", tail="\n"):
    """Return the RLE text of `board`, wrapped after `columns` signs: the writer that the reader is checked with."""
    rows = ["".join("o" if cell else "b" for cell in row).rstrip("b") for row in board.tolist()]
    counted = re.sub(r"(.)\1+", lambda run: f"{len(run[0])}{run[1]}", "$".join(rows).rstrip("$") + "!")
    lines = [""]
    for piece in re.findall(r"\d*[bo$!]", counted):
        if lines[-1] and len(lines[-1] + piece) > columns:
            lines.append("")
        lines[-1] += piece
    return f"{comments}x = {board.shape[1]}, y = {board.shape[0]}{rule}\n" + "\n".join(lines) + tail


def pattern_texts(draw):
    """Return (board, RLE text) pairs, the simplest first."""
    glider = _board("010 001 111")
    apart = np.zeros((6, 12), np.uint8)
    apart[0, 11] = apart[4, :10] = 1  # an empty run of rows, a count of two digits, an empty row at the end
    soups = [_soup(draw, height, width) for height, width in ((4, 6), (11, 17), (9, 40))]
    return [
        (glider, "x = 3, y = 3\nbo$2bo$3o!\n"),
        (_board("11 11"), "x = 2, y = 2\n2o$2o!\n"),
        (np.zeros((2, 3), np.uint8), "x = 3, y = 2\n!\n"),
        (glider, "#N Glider\n#C bob$ob! is no cell of it\n" + rle_text(glider)),
        (apart, rle_text(apart)),
        (apart, rle_text(apart, columns=5)),
        (soups[0], rle_text(soups[0], rule="", tail="\nafter the end: 3o$ is a note\n")),
        (soups[1], rle_text(soups[1], columns=20, comments="#O somebody\n")),
        (soups[2], rle_text(soups[2], rule=", rule = B36/S23")),
    ]


def _board(rows):
    return np.array([[int(cell) for cell in row] for row in rows.split()], np.uint8)


def _soup(draw, height, width, density=0.4):
    return (draw.random((height, width)) < density).astype(np.uint8)


def fixed_boards():
    """Return the boards that everybody gets, the smallest first: one cell, cells at the edges, a full board."""
    corners = []
    for row, column in ((0, 0), (0, 3), (3, 0), (3, 3)):
        board = np.zeros((4, 4), np.uint8)
        board[row - 1, column - 1] = board[row, column] = board[row, (column + 1) % 4] = 1
        corners.append(board)
    blinker = _board("00000 00000 01110 00000 00000")
    return [np.zeros((3, 3), np.uint8), _board("000 010 000"), *corners, blinker, np.ones((4, 5), np.uint8)]


def _boards(*sizes):
    draw = np.random.default_rng(3)
    return [*fixed_boards(), *(_soup(draw, height, width) for height, width in sizes)]


def _files():
    with tempfile.TemporaryDirectory() as folder:
        for number, (board, text) in enumerate(pattern_texts(np.random.default_rng(3))):
            path = PatternFile(Path(folder) / f"pattern{number}.rle")
            path.board, path.text = board, text
            Path(path).write_text(text, encoding="utf-8")
            yield (path,)


def _repeats():
    draw = np.random.default_rng(3)
    yield np.zeros((3, 3), np.uint8), 5, Parity()
    yield _board("010 000 000"), 20, Parity()
    yield _board("0100 0000 0000 0000"), 20, Parity()
    soup = _soup(draw, 5, 5)
    start, period = first_repeat(soup, 50, Parity())
    yield soup, start + period - 1, Parity()
    yield soup, start + period, Parity()
    for height, width in ((3, 5), (4, 6), (3, 7), (8, 8)):
        yield _soup(draw, height, width), 200, Parity()


def _drawn_boards():
    """Return the strategy of boards: the fewer cells live, and the smaller it is, the simpler."""
    from hypothesis import strategies

    def made(living, height, width):
        board = np.zeros((height, width), np.uint8)
        for row, column in living:
            board[row % height, column % width] = 1  # modulo, so that a smaller board has no fewer living cells
        return board

    place, size = strategies.integers(0, 6), strategies.integers(3, 7)
    return strategies.builds(made, strategies.lists(strategies.tuples(place, place), max_size=24), size, size)


def _drawn(*others):
    """Return the strategy of (board, *others): a range is drawn from, any other value is as it is."""
    from hypothesis import strategies

    def made(one):
        return strategies.integers(one.start, one.stop - 1) if isinstance(one, range) else strategies.just(one)

    return strategies.tuples(_drawn_boards(), *map(made, others))


def _drawn_rules():
    from hypothesis import strategies

    digits = strategies.lists(strategies.integers(0, 8), max_size=3, unique=True).map(sorted)
    rules = strategies.builds(lambda *two: "B{}/S{}".format(*("".join(map(str, one)) for one in two)), digits, digits)
    return strategies.tuples(_drawn_boards(), rules)


@contextmanager
def _drawn_files():
    from hypothesis import strategies

    with tempfile.TemporaryDirectory() as folder:

        def written(board, columns, tail):
            path = PatternFile(Path(folder) / "pattern.rle")  # one at a time is looked at
            path.board, path.text = board, rle_text(board, columns, tail=tail)
            Path(path).write_text(path.text, encoding="utf-8")
            return (path,)

        tails = strategies.sampled_from(["\n", "\nbob$ is a note\n"])
        yield strategies.builds(written, _drawn_boards(), strategies.integers(5, 70), tails)


def _as_array(oracle):
    """Return what accepts an array (of any dtype, or nested lists) whose values are the oracle's."""

    def accepts(got, *arguments):
        wanted = oracle(*arguments)
        try:
            given = np.asarray(got)
        except ValueError:  # rows of different lengths
            return f"expected an array of shape {wanted.shape}"
        if given.shape != wanted.shape:
            return f"expected an array of shape {wanted.shape}"
        return bool(np.array_equal(given, wanted)) or f"expected {show(wanted)}"

    return accepts


EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "next_generation",
            lambda: [(board,) for board in _boards((3, 4), (5, 7), (9, 6))],
            accepts=_as_array(one_generation),
            inputs=_drawn,
            hint="count eight neighbours, not nine; beyond the last column comes the first.",
        ),
        Exercise(
            "film",
            lambda: [
                (board, count, Parity())
                for board, count in zip(_boards((3, 4)), (0, 1, 2, 3, 4, 5, 1, 2, 6), strict=True)
            ],
            accepts=_as_array(every_frame),
            inputs=lambda: _drawn(range(5), Parity()),
            hint="frame 0 is the board itself, so there is one frame more than generations.",
        ),
        Exercise(
            "read_rle",
            _files,
            accepts=_as_array(lambda path: path.board),
            inputs=_drawn_files,
            hint="make an empty board of the head's size first; a count belongs to the sign after it, $ included.",
        ),
        Exercise(
            "run_until_repeat",
            _repeats,
            first_repeat,
            inputs=lambda: _drawn(range(1, 30), Parity()),
            hint="a dictionary from a board's bytes, board.tobytes(), to the generation that had them first.",
        ),
        Exercise(
            "rule_step",
            lambda: [
                (board, rule)
                for rule in ("B3/S23", "B36/S23", "B2/S", "B/S012345678", "B0/S8", "B1357/S1357")
                for board in _boards((5, 7))
            ],
            accepts=_as_array(by_rule),
            inputs=_drawn_rules,
            hint="a dead cell asks only the digits after B, a living one only those after S.",
        ),
        Exercise(
            "fast_step",
            lambda: [(board, count) for count in (1, 2, 5) for board in _boards((5, 7))] + [(_boards()[-1], 0)],
            accepts=_as_array(many_generations),
            inputs=lambda: _drawn(range(4)),
            hint="every generation, edges included, as in next_generation.",
        ),
    ]
}
