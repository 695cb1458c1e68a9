"""Pictures: one colour per role, one style for plots, one for pages; `picture(figure, alt)` shows them in a notebook.

A leaf: it takes numbers and dataclasses, never an engine, and loads matplotlib only when something is drawn.
"""

import warnings

import course
from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.draw.colours import ROLES, Role, worker_colour
    from course.draw.crossover import copy_share, crossover
    from course.draw.darts import darts, error_law
    from course.draw.faults import faults
    from course.draw.film import film
    from course.draw.ladder import Ladder, ladder
    from course.draw.ops import ops
    from course.draw.picture import Picture, css, figure, html, picture, table
    from course.draw.roofline import roofline
    from course.draw.scale import latency, scale
    from course.draw.slices import SliceMeans, slice_means
    from course.draw.timeline import lanes
    from course.draw.training import Seen, distance, learning, training

__all__ = [
    "ROLES",
    "Ladder",
    "Picture",
    "Role",
    "Seen",
    "SliceMeans",
    "copy_share",
    "crossover",
    "css",
    "darts",
    "distance",
    "error_law",
    "faults",
    "figure",
    "film",
    "html",
    "ladder",
    "lanes",
    "latency",
    "learning",
    "ops",
    "picture",
    "roofline",
    "scale",
    "slice_means",
    "table",
    "training",
    "worker_colour",
]


def __getattr__(name: str) -> object:
    if name == "animate":  # it goes in version 0.2: it computes a board's future, which a picture must not
        warnings.warn("draw.animate(…) is deprecated: say widgets.animate(…)", DeprecationWarning, stacklevel=2)
        return course.widgets.animate
    raise AttributeError(f"module 'course.draw' has no {name!r}; its names are {', '.join(__all__)}")
