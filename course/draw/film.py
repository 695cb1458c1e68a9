"""A film of a board: matplotlib draws every frame into one sheet, a player of our own shows them one by one.

No outside link, no video codec: a page without a kernel plays it, and one without scripts shows the first frame.
"""

import base64
import hashlib
import io
import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from course.draw.colours import ROLES
from course.draw.picture import Picture, html, text_of
from course.signals import held_back

_WIDEST, _TALLEST, _LARGEST_CELL = 600, 400, 16  # CSS pixels: a notebook's column, a laptop's screen
_GAP = 1  # transparent pixels between frames, so that none shows its neighbour at a fractional zoom


def film(frames: Sequence[Any], seconds: float = 0.08, first: int = 0) -> Picture:
    """Return a `Picture` that plays `frames`, (H, W) arrays of 0 and 1, `seconds` apart, numbered from `first`."""
    stack = np.stack([np.asarray(frame, dtype=np.uint8) for frame in frames])
    count, height, width = stack.shape
    living = stack.sum(axis=(1, 2)).tolist()
    alt = f"{count - 1} generations of {height} × {width} cells: {living[0]} living at first, {living[-1]} at last."
    columns = math.ceil(math.sqrt(count * height / width))  # about as wide as high
    sheet = base64.b64encode(_sheet(stack, columns)).decode()
    scale = min(_WIDEST / width, _TALLEST / height, _LARGEST_CELL)
    scale = max(1, int(scale)) if scale >= 1 else scale
    settings = {"columns": columns, "living": living, "seconds": seconds, "first": first}
    settings |= {"right": (width + _GAP) * scale, "down": (height + _GAP) * scale}
    name = "film-" + hashlib.sha256((sheet + json.dumps(settings)).encode()).hexdigest()[:12]
    rows, text = math.ceil(count / columns), escape(alt, quote=True)
    script = text_of("course.draw", "film.js").replace("NAME", name).replace("SETTINGS", json.dumps(settings))
    body = f"""<div class="film" id="{name}">
<div class="bar" hidden><button type="button" class="play">Play</button>
<button type="button" class="back" aria-label="one generation back">−1</button>
<button type="button" class="on" aria-label="one generation on">+1</button>
<label>generation <input type="range" min="{first}" max="{first + count - 1}" value="{first}"></label></div>
<div class="figure"><span class="now">{first}</span> <small>generation</small> <span class="living">{living[0]}</span>
<small>living cells</small></div>
<div class="window" style="width:{width * scale:g}px;height:{height * scale:g}px">
<img alt="{text}" src="data:image/png;base64,{sheet}" \
style="width:{columns * settings["right"]:g}px;height:{rows * settings["down"]:g}px"></div>
<p class="note">{text}</p></div>"""
    return html(f"{body}<style>{text_of('course.draw', 'film.css')}</style><script>{script}</script>", alt)


def _sheet(stack, columns):
    """Return a PNG, one pixel a cell, of all frames in rows of `columns`."""
    count, height, width = stack.shape
    rows = math.ceil(count / columns)
    grid = np.zeros((rows * columns, height + _GAP, width + _GAP), dtype=np.uint8)
    grid[:count, :height, :width] = stack
    sheet = grid.reshape(rows, columns, height + _GAP, width + _GAP).swapaxes(1, 2)
    return png_of(sheet.reshape(rows * (height + _GAP), -1))


def png_of(cells: Any, paper: str = "#00000000") -> bytes:
    """Return a PNG of `cells`, an array (H, W) of 0 and 1, a pixel each; `paper` is the colour of a 0."""
    with held_back():
        from matplotlib.colors import ListedColormap
        from matplotlib.image import imsave

    stream = io.BytesIO()
    colours = ListedColormap([paper, ROLES["cpu"].colour])
    metadata: dict[str, Any] = {"Software": None}
    imsave(stream, cells, cmap=colours, vmin=0, vmax=1, format="png", metadata=metadata)
    return stream.getvalue()
