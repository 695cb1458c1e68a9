"""Legal inputs of lab 03's exercises, as Hypothesis draws them and makes them smaller. Loaded when a check looks on."""

import numpy as np
from hypothesis import strategies as st

from .cases import file_of, rle_text


def _boards():
    """Return the strategy of boards: the fewer cells live, and the smaller it is, the simpler."""

    def made(living, height, width):
        board = np.zeros((height, width), np.uint8)
        for row, column in living:
            board[row % height, column % width] = 1  # modulo, so that a smaller board has no fewer living cells
        return board

    place, size = st.integers(0, 6), st.integers(3, 7)
    return st.builds(made, st.lists(st.tuples(place, place), max_size=24), size, size)


def boards():
    """A board."""
    return st.tuples(_boards())


def films():
    """A board, and up to four generations."""
    return st.tuples(_boards(), st.integers(0, 4))


def repeats():
    """A board, and a limit of up to 29."""
    return st.tuples(_boards(), st.integers(1, 29))


def runs():
    """A board, and up to three generations."""
    return st.tuples(_boards(), st.integers(0, 3))


def rules():
    """A board, and a rule with up to three digits on each side."""
    digits = st.lists(st.integers(0, 8), max_size=3, unique=True).map(sorted)
    made = st.builds(lambda *two: "B{}/S{}".format(*("".join(map(str, one)) for one in two)), digits, digits)
    return st.tuples(_boards(), made)


def files():
    """A pattern's file, its lines broken anywhere, with or without a note after its end."""
    tails = st.sampled_from(["\n", "\nbob$ is a note\n"])
    return st.builds(
        lambda board, columns, tail: file_of(board, rle_text(board, columns, tail=tail)),
        *[_boards(), st.integers(5, 70), tails],
    )
