"""One line of a placement log: which op ran where, on which shapes, and how many bytes had to move for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpRecord:
    """An op that ran: `op` (torch's own name, `mm`), `device` (`/cpu:0`), `dtype` of what it made (or read, when it
    makes no tensor), `shapes` of its tensor inputs, `made` shapes of its tensor outputs.

    `bytes_moved` counts the bytes of inputs that lay on another device, `origin` (None when nothing moved). `backward`
    is True for ops of a backward pass. `view` is True when the op computes nothing and its result shares its input's
    memory. `note` says why the op ran where it did, where there is something to say.
    """

    op: str
    device: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    bytes_moved: int = 0
    origin: str | None = None
    made: tuple[tuple[int, ...], ...] = ()
    backward: bool = False
    view: bool = False
    note: str = ""

    @property
    def shape_text(self):
        """The shapes as `(2, 3) (3, 2) -> (2, 2)`."""
        inputs, outputs = (" ".join(map(str, side)) for side in (self.shapes, self.made))
        return f"{inputs} -> {outputs or 'no tensor'}".strip()

    @property
    def remarks(self):
        """What else there is to say: bytes moved and where from, backward, view, the note."""
        moved = f"{self.bytes_moved:,} bytes from {self.origin}" if self.bytes_moved else ""
        words = (moved, "backward" if self.backward else "", "view" if self.view else "", self.note)
        return ", ".join(filter(None, words))


def as_text(records):
    """Return the records as aligned lines, one an op."""
    cells = [(r.op, r.device, r.shape_text, r.dtype, r.remarks) for r in records]
    widths = [max((len(row[column]) for row in cells), default=0) for column in range(4)]
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0], strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)
