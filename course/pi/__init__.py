"""Pi by darts at a quarter of a disc: sample i is the same dart wherever and whenever it is thrown.

Read in this order: `dart_places` (where a dart falls), `pseudo`, `philox` and `spread` (the methods), `kernels` (their
compiled counts), `estimate` (`estimate_pi` and its error), `one_stream` (what the same seed everywhere does).
"""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.pi.estimate import METHODS, PiEstimate, darts, estimate_pi
    from course.pi.one_stream import one_stream

__all__ = ["METHODS", "PiEstimate", "darts", "estimate_pi", "one_stream"]
