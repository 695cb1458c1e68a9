"""`Wire`: the kernel's end of an exhibit's line to its page."""

import anywidget
import traitlets

from course.widgets.exhibits.page import script


class Wire(anywidget.AnyWidget):
    """Never displayed: its comm opens without a view, the page finds its model by the `key`, and speaks through it."""

    _esm = script("wire.js") + "\nexport default { initialize: ({ model }) => wire(model) };\n"
    key = traitlets.Unicode("").tag(sync=True)

    def listen_while_a_cell_runs(self) -> None:
        """Have what the page sends arrive while a cell runs, in a thread of the kernel's (a subshell), if it has any.

        Without it ipykernel keeps answers for the thread that spoke last, which is the cell's.
        """
        self.comm._reply_subshell_for = lambda data, asked_for: asked_for
