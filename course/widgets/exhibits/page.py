"""The HTML of an exhibit: data as JSON, the files that draw them, and a still for pages in which no script runs.

There is no widget view in it: one whose kernel is gone says "model not found" for ever.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course.draw import Picture, html
from course.progress_line import STATIC_TWINS
from course.widgets.exhibits.give import carried_elsewhere
from course.widgets.exhibits.page_files import CALL, PageFile, files_of, labels, with_one_copy

_ALONE = "A still picture: the scripts of this exhibit are not in this notebook. Run the cell, and it answers to you."


def key_of(*parts: object, nonce: str = "") -> str:
    """Return an exhibit's name in the page: of its contents `parts` (JSON), and of a `nonce` where a kernel is."""
    own = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    return own if os.environ.get(STATIC_TWINS) or not nonce else f"{own}-{nonce}"


def page(
    key: str,
    data: Mapping[str, Any],
    files: Sequence[PageFile],
    still: Picture,
    carried: Callable[[Sequence[PageFile]], set[str]] = carried_elsewhere,
) -> Picture:
    """Return the exhibit: the last of `files` exports `draw(root, data)`, which draws `data` (plain values).

    Where scripts don't run, and until they do, `still` is there, its drawings as images: a page that isn't trusted
    loses inline ones. Its words are the exhibit's. Of the files only those are in it that are not `carried(files)`, the
    labels of those that the page gets from elsewhere.
    """
    files = (*files_of("exhibits.css"), *files)
    stored = json.dumps({**data, "key": key}, separators=(",", ":")).replace("</", "<\\/")
    body = f"""<div class="exhibit" data-exhibit="{key}" data-files="{labels(files)}"><div class="stage"></div>
<div class="still">{_still(still)}</div><p class="note alone" hidden>{_ALONE}</p>
<script type="application/json">{stored}</script></div>
{CALL}"""
    return html(with_one_copy(body, carried(files)), still.alt)


def _still(still):
    """Return the still's HTML with images for its drawings, and without the styles that the page has anyway."""
    return re.sub(r"<style>.*?</style>", "", re.sub(r"<svg.*?</svg>", _image, still.html, flags=re.S), flags=re.S)


def _image(drawing):
    """Return a drawing as an image; it can't see the page's theme, so its text is of a middle grey."""
    text = drawing[0].replace("currentColor", "#7A7A7A")
    if "xmlns=" not in text:
        text = text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    alt = re.search(r'aria-label="([^"]*)"', text)  # escaped already
    encoded = base64.b64encode(text.encode()).decode()
    return f'<img alt="{alt[1] if alt else ""}" src="data:image/svg+xml;base64,{encoded}">'
