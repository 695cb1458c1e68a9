"""One line of a placement log: which op ran where, on which shapes, and how many bytes had to move for it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from course.devices.names import DeviceName
from course.units import in_words

_LEAST = 5e-9  # seconds; less is shown as none


@dataclass(frozen=True, slots=True)
class OpRecord:
    """An op that ran: `op` (torch's own name, `mm`), `device` (`/cpu:0`), `dtype` of what it made (or read, when it
    makes no tensor), `shapes` of its tensor inputs, `made` shapes of its tensor outputs.

    `bytes_moved` counts the bytes of inputs that lay on another device, `origin` (None when nothing moved). `backward`
    is True for ops of a backward pass. `view` is True when the op computes nothing and its result shares its input's
    memory. `waits` is True when the host has to wait for a device's values before it can go on. `note` says why the op
    ran where it did, where there is something to say. `simulated` is True when one of its devices isn't there.
    `seconds`, where they are known, are those that the op or the copy takes alone, from its call to its end; the host
    needs `launch` of them to start it. `seconds_kind` is `modelled` (by the clock of simulated GPUs) or `measured` (by
    a timed log, on the CPU); `seconds_origin` says on what the model stands.
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
    simulated: bool = False
    seconds: float | None = None
    seconds_kind: str = ""
    seconds_origin: str = ""
    launch: float = 0.0
    waits: bool = False

    @property
    def device_text(self) -> str:
        """The device, and whether it is simulated."""
        return self.device + self._marked(self.device)

    @property
    def shape_text(self) -> str:
        """The shapes as `(2, 3) (3, 2) -> (2, 2)`."""
        inputs, outputs = (" ".join(map(str, side)) for side in (self.shapes, self.made))
        return f"{inputs} -> {outputs or 'a number'}".strip()

    @property
    def moved_text(self) -> str:
        """The move in words, empty when nothing moved."""
        if not self.bytes_moved:
            return ""
        size = f"{self.bytes_moved:,} byte{'s' if self.bytes_moved > 1 else ''}"
        if self.origin == self.device:  # a number that Python reads
            return f"{size} to /cpu:0"
        return f"{size} from {self.origin}{self._marked(self.origin)}"

    @property
    def seconds_text(self) -> str:
        """The seconds with a unit and their kind, those of its launch apart; empty where they are unknown."""
        if self.seconds is None:
            return ""
        launch = f" + {in_words(self.launch)} launch" if self.launch else ""
        alone = self.seconds - self.launch
        return f"{in_words(alone) if alone >= _LEAST else '0.00 µs'}{launch} {self.seconds_kind}"

    @property
    def remarks(self) -> str:
        """All other remarks: bytes moved and where from, a wait for the GPU, backward, view, the note."""
        words = (
            self.moved_text,
            "waits for the GPU" if self.waits else "",
            "backward" if self.backward else "",
            "view" if self.view else "",
            self.note,
        )
        return ", ".join(filter(None, words))

    def on(self, task: str) -> "OpRecord":
        """Return this record with its devices named as those of `task`, such as "/job:worker/task:1"; "": as it is."""
        if not task:
            return self
        return replace(self, device=task + self.device, origin=self.origin and task + self.origin)

    def row(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values, for a table or a data frame."""
        return asdict(self)

    def _marked(self, name):
        return " (simulated)" if self.simulated and "/gpu:" in name else ""


def as_text(records: Iterable[OpRecord]) -> str:
    """Return the records as aligned lines, one an op; with a column of seconds where some are known.

    A last line says where modelled seconds come from.
    """
    cells = [(r.op, r.device_text, r.shape_text, r.dtype, r.seconds_text, r.remarks) for r in records]
    widths = [max((len(row[column]) for row in cells), default=0) for column in range(5)]
    chosen = [column for column in range(6) if column != 4 or widths[4]]
    lines = ("  ".join(f"{row[column]:<{[*widths, 0][column]}}" for column in chosen) for row in cells)
    return "\n".join([line.rstrip() for line in lines] + sources(records))


def sources(records: Iterable[OpRecord]) -> list[str]:
    """Return a line for each origin of the seconds that were not measured."""
    return sorted({f"seconds {r.seconds_kind}: {r.seconds_origin}" for r in records if r.seconds_origin})


def as_lines(records: Iterable[OpRecord], task: DeviceName) -> list[str]:
    """Return a line a record in the manner of TensorFlow's `log_device_placement`; `task` is a `DeviceName`.

    The name of an op is unique in the log, counted as TensorFlow counts (`mm`, `mm_1`), and that of a backward op
    stands in `gradients/`.
    """
    counts: dict[str, int] = {}
    lines = []
    for record in records:
        plain = f"gradients/{record.op}" if record.backward else record.op
        number = counts[plain] = counts.get(plain, -1) + 1
        name = f"{plain}_{number}" if number else plain
        moved = f", {record.bytes_moved:,} bytes from {_in_full(record.origin, task)}" if record.bytes_moved else ""
        word = " (simulated)" if record.simulated else ""
        lines.append(f"{name}: ({record.op}): {_in_full(record.device, task)}{moved}{word}")
    return lines


def _in_full(device, task):
    """Return a device in TensorFlow's spelling, as one of `task` unless it names its own; any other text as it is."""
    try:
        name = DeviceName.parse(device)
    except ValueError:
        return device
    return (name if name.job else DeviceName(task.job, task.task, name.kind, name.index)).tensorflow
