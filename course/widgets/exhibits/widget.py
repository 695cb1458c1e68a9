"""`exhibit.widget()`: an exhibit among widgets of ipywidgets, to be laid out, observed and linked with them.

It needs a kernel, as every widget does; the exhibit itself still draws without one.
"""

from collections.abc import Mapping
from typing import Any

import anywidget
import ipywidgets
import traitlets

from course.draw.picture import text_of
from course.widgets.exhibits.page_files import LOADER, ROOM
from course.widgets.exhibits.state import Stateful


class ExhibitWidget(anywidget.AnyWidget, ipywidgets.ValueWidget):
    """Shows an exhibit; `value` is its whole state, name to value, and each part of that is a trait of its name.

    Setting a trait, in Python or in the page, moves the exhibit, and the exhibit's moves set the traits. A value that
    the exhibit refuses raises its TraitError, and the one before is back.
    """

    _esm = LOADER.text + text_of(ROOM, "widget.js") + "\nexport default { render };\n"
    html = traitlets.Unicode().tag(sync=True)
    value = traitlets.Dict().tag(sync=True)

    def __init__(self, exhibit: Stateful, html: str):
        self._exhibit = exhibit
        super().__init__(html=html, value=exhibit.state(), **exhibit.state())
        self.observe(self._moved, names=["value", *exhibit.state()])
        exhibit.followers.append(self._take_state)

    def _take_state(self):
        state = self._exhibit.state()
        with self.hold_sync():
            for name, value in state.items():
                setattr(self, name, value)
            self.value = state

    def _moved(self, change: Mapping[str, Any]) -> None:
        changes = change["new"] if change["name"] == "value" else {change["name"]: change["new"]}
        try:
            self._exhibit.update(**changes)
        finally:
            self._take_state()  # what was refused is as it was

    def __repr__(self):
        return f"{self._exhibit!r}.widget()"


def widget_of(exhibit: Stateful, html: str) -> ExhibitWidget:
    """Return a widget that shows `html` (what the exhibit's output has), with a trait for each part of the state."""
    traits = {name: traitlets.Any().tag(sync=True) for name in exhibit.state()}
    kind = type(f"{type(exhibit).__name__}Widget", (ExhibitWidget,), {"__module__": __name__, **traits})
    return kind(exhibit, html)
