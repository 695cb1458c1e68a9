"""Pi by darts at a quarter of a disc: sample i is the same dart wherever and whenever it is thrown."""

from course.pi.estimate import METHODS, PiEstimate, darts, estimate_pi

__all__ = ["METHODS", "PiEstimate", "darts", "estimate_pi"]
