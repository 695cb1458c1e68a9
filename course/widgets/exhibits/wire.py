"""`Wire`: the kernel's end of an exhibit's line to its page."""

from inspect import signature

import anywidget
import traitlets

from course.draw.picture import text_of
from course.widgets.exhibits.page_files import ROOM


class Wire(anywidget.AnyWidget):
    """Never displayed: its comm opens without a view, the page finds its model by the `key`, and speaks through it."""

    _esm = text_of(ROOM, "wire.js") + "\nexport default { initialize: ({ model }) => wire(model) };\n"
    key = traitlets.Unicode("").tag(sync=True)

    def listen_while_a_cell_runs(self) -> bool:
        """Have what the page sends arrive while a cell runs, in a thread of the kernel's (a subshell), if it has any.

        ipykernel before 7.4 sends it where the page asked; from 7.4 on it goes to the thread that spoke last, which is
        the cell's, and nothing public says otherwise. Where a later one routes in yet another way, this changes nothing
        and returns False: then a press is heard once the cell has ended, and the page says so.
        """
        route = getattr(self.comm, "_reply_subshell_for", None)
        if route is None:
            return True
        if [*signature(route).parameters] != ["data", "default"]:
            return False
        self.comm._reply_subshell_for = lambda data, default: default
        return True
