"""Rows of numbers, kept by column: some bytes each, and never more than a limit of them."""

from array import array
from itertools import compress

#: Seconds of one tick, in which a tape counts time: 4 bytes then last for five hours and a half.
TICK = 1e-5
#: Steps through all 32-bit numbers evenly: however many come in turn from however many processes, each keeps its part.
_GOLDEN = 0x9E3779B1


def is_kept(number: int, one_in: int) -> bool:
    """Say whether the row of this number is among the one in `one_in` (a power of two) that are kept.

    A row that is among one in eight is among one in four. Source: D. Knuth, The Art of Computer Programming 3, 6.4.
    """
    return (number * _GOLDEN & 0xFFFFFFFF) < 2**32 // one_in


class Columns:
    """Rows whose columns are `array`s of the given typecodes; at most `limit` of them are kept.

    Beyond that, about every second row is dropped, those to come too, then three of four …: one row stands for
    `one_in`. `added` counts all rows that came. Not for several threads at once.
    """

    def __init__(self, limit: int, **codes: str):
        self.limit, self.one_in, self.added = limit, 1, 0
        self.columns = {"row": array("I")} | {name: array(code) for name, code in codes.items()}

    def __len__(self) -> int:
        return len(self.columns["row"])

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return sum(column.itemsize * len(column) for column in self.columns.values())

    def add(self, *row: int) -> int | None:
        """Add a row, its values in the order of the columns; return its number among all, None when it isn't kept.

        OverflowError for a value that its column can't hold.
        """
        number, self.added = self.added, self.added + 1
        while len(self) >= self.limit and is_kept(number, self.one_in):
            self._thin()
        if not is_kept(number, self.one_in):
            return None
        for column, value in zip(self.columns.values(), (number, *row), strict=True):
            column.append(value)
        return number

    def places(self) -> dict[int, int]:
        """Return where each row that is kept stands: its number -> its place."""
        return {number: place for place, number in enumerate(self.columns["row"])}

    def rows(self) -> list[tuple[int, ...]]:
        """Return the rows that are kept, in the order in which they were added, without their numbers."""
        return [row[1:] for row in zip(*self.columns.values(), strict=True)]

    def _thin(self):
        self.one_in *= 2
        stay = [is_kept(number, self.one_in) for number in self.columns["row"]]
        self.columns = {name: array(c.typecode, compress(c, stay)) for name, c in self.columns.items()}
