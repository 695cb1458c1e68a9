"""Pi by darts at a quarter of a disc: sample i is the same dart wherever and whenever it is thrown."""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.pi.estimate import METHODS, PiEstimate, darts, estimate_pi
    from course.pi.one_stream import one_stream

__all__ = ["METHODS", "PiEstimate", "darts", "estimate_pi", "one_stream"]
