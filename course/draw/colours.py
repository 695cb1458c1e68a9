"""The course's colours: the same thing has the same colour, and a second sign, in every plot, widget and table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Stands for the page's own text colour: `picture` writes `currentColor` for it.
TEXT = "#0a0b0c"


@dataclass(frozen=True)
class Role:
    """What a colour stands for: `colour` as `#RRGGBB`, `marker` in matplotlib's spelling, `sign` as a character."""

    colour: str
    marker: str
    sign: str


#: Contrast of each colour is at least 3:1 on white and on #111 (a test measures it).
ROLES = {
    "cpu": Role("#0072B2", "s", "■"),
    "gpu": Role("#D55E00", "^", "▲"),
    "ps": Role("#008F6B", "D", "◆"),
    "worker": Role("#9B6BC7", "o", "●"),
    "bytes": Role("#7A7A7A", ">", "→"),
    "waiting": Role("#B08A00", ".", "…"),
    "error": Role("#C0392B", "x", "✕"),
}

#: Methods that are compared, in their order: colour (None: the text's), marker and line. The colours belong to no role.
METHODS: tuple[tuple[str | None, str, str], ...] = (
    ("#018571", "o", "-"),
    ("#A6611A", "s", "--"),
    (None, "^", ":"),
    ("#7D8A3C", "D", "-."),
)


def compared(call: str, curves: Mapping[str, Any]) -> list[tuple[str, Any, dict[str, str]]]:
    """Return (name, curve, look) of each of `curves`; a look is colour, marker and line as matplotlib's settings.

    Raises ValueError, which names the `call`, for none and for more than can be told apart.
    """
    if not 1 <= len(curves) <= len(METHODS):
        raise ValueError(f"{call}: {len(curves)} curves; 1 to {len(METHODS)} can be told apart.")
    looks = ({"color": colour or TEXT, "marker": marker, "linestyle": line} for colour, marker, line in METHODS)
    return [(name, curve, look) for (name, curve), look in zip(curves.items(), looks, strict=False)]


def role_of(device: str) -> Role:
    """Return the `Role` of a device by its name."""
    return ROLES["cpu" if "cpu" in device else "gpu"]


def bar_style(role: str, real: bool = False, hatch: str | None = "/") -> dict[str, Any]:
    """Return the settings of a bar in the role's colour: solid for what was measured here, else dashed and hatched."""
    colour = ROLES[role].colour
    if real:
        return {"facecolor": colour, "edgecolor": colour}
    return {"facecolor": (colour, 0.35), "edgecolor": colour, "hatch": hatch, "linestyle": "--"}


# Shades by index around the worker colour, each checked for contrast like the others.
_WORKER_SHADES = ["#9B6BC7", "#7F56B3", "#B565B0", "#8A70D6", "#A0609A", "#7A6FB8"]


def worker_colour(index: int) -> str:
    """Return worker `index`'s shade of the worker colour as `#RRGGBB`; shades repeat after six.

    >>> worker_colour(0)
    '#9B6BC7'
    """
    return _WORKER_SHADES[index % len(_WORKER_SHADES)]
