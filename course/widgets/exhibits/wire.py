"""`Wire`: the kernel's end of an exhibit's line to its page."""

import anywidget
import traitlets

from course.widgets.exhibits.page import script


class Wire(anywidget.AnyWidget):
    """Never displayed: its comm opens without a view, the page finds its model by the `key`, and speaks through it."""

    _esm = script("wire.js") + "\nexport default { initialize: ({ model }) => wire(model) };\n"
    key = traitlets.Unicode("").tag(sync=True)
