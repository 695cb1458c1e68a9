"""Pictures: one colour per role, one style for plots, one style sheet for pages; `picture(figure, alt)` puts them in a notebook.

A leaf: it takes numbers and dataclasses, never an engine, and loads matplotlib only when something is drawn.
"""

from course.draw.colours import ROLES, Role, worker_colour
from course.draw.picture import Picture, css, figure, html, picture, table

__all__ = ["ROLES", "Picture", "Role", "css", "figure", "html", "picture", "table", "worker_colour"]
