"""Map and reduce on any executor, and the mean of an array in slices: what is joined, and in which order.

Read in this order: `engine` (map and reduce), `slices` (the mean), `chunks` and `chunk_sums` (a sum in one order of
additions), `dealt` (slices on tasks, in simulated seconds).
"""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.mapreduce.dealt import Span, dealt
    from course.mapreduce.engine import PartError, map_reduce
    from course.mapreduce.slices import PartSum, mean, part_sum, slices

__all__ = ["PartError", "PartSum", "Span", "dealt", "map_reduce", "mean", "part_sum", "slices"]
