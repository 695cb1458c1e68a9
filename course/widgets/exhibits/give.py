"""Which files an output carries in a kernel: those that no other cell's output carries; the page gets all of them."""

import os
import threading
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from course.draw.picture import text_of
from course.progress_line import STATIC_TWINS
from course.widgets.exhibits.page_files import LOADER, ROOM, PageFile


class Given(anywidget.AnyWidget):
    """Never displayed: files for the page, label -> text, which it gets with the comm, and again after a reload."""

    _esm = LOADER.text + text_of(ROOM, "give.js") + "\nexport default { initialize: ({ model }) => give(model) };\n"
    files = traitlets.Dict().tag(sync=True)


_lock = threading.Lock()
_carriers: dict[str, str] = {}  # label of a file -> the cell whose output carries it
_widgets: dict[str, Given] = {}  # label of a file -> the widget that has it


def carried_elsewhere(files: Sequence[PageFile]) -> set[str]:
    """Return the labels of those `files` that another cell's output carries; give the page all of them.

    Outside a kernel, and in outputs that are stored (`notebooks/build.py` leaves one copy of each), none is.
    """
    message = _request()
    if message is None:
        return set()
    carried_by_kernel(files)
    about = message.get("metadata", {})
    cell = about.get("cellId") or message["header"]["msg_id"]
    with _lock:
        for label in [label for label, carrier in _carriers.items() if carrier in about.get("deletedCells", ())]:
            del _carriers[label]
        return {file.label for file in [*files, LOADER] if _carriers.setdefault(file.label, cell) != cell}


def carried_by_kernel(files: Sequence[PageFile]) -> set[str]:
    """Return the labels of all `files`: give the page those that it has not been given. For what no output carries."""
    with _lock:
        missing = {file.label: file.text for file in files if file.label not in _widgets}
        if missing:
            _widgets.update(dict.fromkeys(missing, Given(files=missing)))
    return {file.label for file in [*files, LOADER]}


def _request() -> dict[str, Any] | None:
    """Return the message that asked the kernel to run the present cell, None where there is none."""
    if os.environ.get(STATIC_TWINS):
        return None
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    message = kernel.get_parent() if kernel is not None else None
    return message if message and "header" in message else None
