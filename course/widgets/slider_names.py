"""`SliderNames`: in a box of widgets, it gives each slider the label beside it as its name for screen readers."""

import anywidget

from course.draw.picture import text_of


class SliderNames(anywidget.AnyWidget):
    """A widget that shows nothing: ipywidgets has no setting for the accessible name of a slider's handle."""

    _esm = text_of("course.widgets", "slider_names.js")
