"""The device log explorer: choose a program and where it is placed, read what ran where and what moved."""

from dataclasses import dataclass
from html import escape

import ipywidgets
import torch
import traitlets

from course import draw
from course.devices import OpRecord, list_devices, log_placement, place
from course.widgets.explorer import Explorer


@dataclass(frozen=True)
class LoggedRun:
    """The `records` of one run, `remark` on what could not run, `error` when the place is none of this machine's."""

    records: tuple[OpRecord, ...] = ()
    remark: str = ""
    error: str = ""


def _chain(leaf):
    a, b, c = leaf(32, 64), leaf(64, 16), leaf(16, 8)
    return lambda: ((a @ b) @ c).sum()


def _network(leaf):
    x, w, bias, v = leaf(32, 20), leaf(20, 16), leaf(16), leaf(16, 1)
    return lambda: ((x @ w + bias).relu() @ v).square().mean()


def _reduction(leaf):
    x = leaf(1000)
    return lambda: (x - x.mean()).square().mean()


#: name -> a function that makes its inputs with `leaf(*shape)` and returns the program, whose result is a loss.
PROGRAMS = {"product of three matrices": _chain, "network of two layers": _network, "variance": _reduction}


_SHAPES_ONLY = "The meta device keeps shapes, not numbers: the bytes are what a real device would have to be sent."


class DeviceLog(Explorer):
    """Runs `program` forward and backward, placed on `device`, and shows its placement log as picture and table.

    `device` is any name that `place` takes; with `from_cpu` the inputs start on the CPU, otherwise on the device.
    `part` shows `all` ops, the `forward` or the `backward` ones. `result` is a `LoggedRun`.
    """

    program = traitlets.Enum(list(PROGRAMS), "network of two layers").tag(state=True)
    device = traitlets.Unicode("/meta:0").tag(state=True)
    from_cpu = traitlets.Bool(True).tag(state=True)
    part = traitlets.Enum(["all", "forward", "backward"], "all").tag(state=True)

    def controls(self):
        """Return program, place, where the inputs start, and which ops are shown."""
        here = [device.name for device in list_devices()]
        where = self.choice("device", [*here, "/meta:0"], "Place on", ipywidgets.Combobox)
        where.continuous_update = False  # a name half typed is no name
        start = ipywidgets.Checkbox(value=self.from_cpu, description="Inputs start on the CPU", indent=False)
        traitlets.link((self, "from_cpu"), (start, "value"))
        return [
            self.choice("program", list(PROGRAMS), "Program"),
            where,
            start,
            self.choice("part", ["all", "forward", "backward"], "Show", ipywidgets.ToggleButtons),
        ]

    def compute(self):
        """Return the program's `LoggedRun`."""
        try:
            placement = place(self.device)
        except ValueError as error:
            return LoggedRun(error=str(error))
        made_on = "cpu" if self.from_cpu else None
        with placement:
            program = PROGRAMS[self.program](lambda *shape: torch.ones(*shape, device=made_on, requires_grad=True))
        with log_placement() as log, placement:
            loss = program()
            returns = not (self.from_cpu and loss.is_meta)
            if returns:
                loss.backward()
        remark = _SHAPES_ONLY if loss.is_meta else ""
        remark += "" if returns else " No backward pass: without numbers no gradient can come back to the CPU."
        return LoggedRun(tuple(log), remark)

    def draw(self, result):
        """Return bytes moved in large, the ops as lanes, and the log as a table."""
        if result.error:
            return draw.html(f'<p class="wrong">{_lines(result.error)}</p>', result.error)
        chosen = [r for r in result.records if self.part in ("all", "backward" if r.backward else "forward")]
        moved = sum(r.bytes_moved for r in chosen)
        picture = draw.ops(chosen, _finding(chosen))
        rows = [(r.op, r.device, r.shape_text, r.dtype, r.bytes_moved, r.remarks) for r in chosen]
        table = draw.table(["op", "device", "shapes", "dtype", "bytes moved", "remarks"], rows, picture.alt)
        note = f'<p class="note">{result.remark}</p>' if result.remark else ""
        number = f'<div class="figure">{moved:,} bytes moved</div>'
        return draw.html(f"{number}{note}{picture.html}{table.html}", f"{picture.alt} {result.remark}".strip())


def _finding(records):
    """Return as a sentence where the ops ran."""
    other = [r.device for r in records if not r.device.startswith("/cpu")]
    if not other:
        return f"All {len(records)} ops ran on the CPU"
    return f"{len(other)} of {len(records)} ops ran on {' and '.join(sorted(set(other)))}"


def _lines(text):
    return escape(text).replace("\n", "<br>")
