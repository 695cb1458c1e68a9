"""Pi by darts at a quarter of a disc: sample i is the same dart wherever and whenever it is thrown."""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.pi.estimate import METHODS, PiEstimate, darts, estimate_pi

__all__ = ["METHODS", "PiEstimate", "darts", "estimate_pi"]
