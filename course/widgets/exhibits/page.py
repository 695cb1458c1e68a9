"""The HTML of an exhibit: data as JSON, a module that draws them, and a still for pages in which no script runs.

There is no widget view in it: one whose kernel is gone says "model not found" for ever.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any

from course.draw import Picture, html
from course.draw.picture import text_of
from course.progress_line import STATIC_TWINS

ROOM = "course.widgets.exhibits"


def script(*names: str, room: str = ROOM) -> str:
    """Return the page's files `names` of a `room`, or of one beside it ("bets/kept.js"), as one module."""
    places = (name.rpartition("/") for name in names)
    beside = ROOM.rpartition(".")[0]
    return "\n".join(text_of(f"{beside}.{other}" if other else room, name) for other, _, name in places)


def key_of(*parts: object, nonce: str = "") -> str:
    """Return an exhibit's name in the page: of its contents `parts` (JSON), and of a `nonce` where a kernel is."""
    own = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    return own if os.environ.get(STATIC_TWINS) or not nonce else f"{own}-{nonce}"


def page(key: str, data: Mapping[str, Any], module: str, still: Picture, style: str = "") -> Picture:
    """Return the exhibit: `module`, which exports `draw(root, data)`, draws `data` (plain values) in its own `style`.

    Where scripts don't run, and until they do, `still` is there, its drawings as images: a page that isn't trusted
    loses inline ones. Its words are the exhibit's.
    """
    stored = json.dumps({**data, "key": key}, separators=(",", ":")).replace("</", "<\\/")
    body = f"""<div class="exhibit" data-exhibit="{key}"><div class="stage"></div>
<div class="still">{_still(still)}</div>
<script type="application/json">{stored}</script></div><style>{script("exhibits.css")}{style}</style>
<script type="module">{module}
for (const root of document.querySelectorAll('[data-exhibit="{key}"]:not([data-ready])')) {{
  root.dataset.ready = "";
  draw(root.querySelector(".stage"), JSON.parse(root.querySelector('script[type="application/json"]').textContent));
}}</script>"""
    return html(body, still.alt)


def _still(still):
    """Return the still's HTML with images for its drawings, and without the styles that the page has anyway."""
    return re.sub(r"<style>.*?</style>", "", re.sub(r"<svg.*?</svg>", _image, still.html, flags=re.S), flags=re.S)


def _image(drawing):
    """Return a drawing as an image; it can't see the page's theme, so its text is of a middle grey."""
    text = drawing[0].replace("currentColor", "#7A7A7A")
    if "xmlns=" not in text:
        text = text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    said = re.search(r'aria-label="([^"]*)"', text)  # escaped already
    encoded = base64.b64encode(text.encode()).decode()
    return f'<img alt="{said[1] if said else ""}" src="data:image/svg+xml;base64,{encoded}">'
