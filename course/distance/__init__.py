"""What distance does to programs: a slow line between real sockets (`link`), and what was `recorded` over such."""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.distance.link import Link

__all__ = ["Link"]
