"""How long it takes: a stopwatch that waits, products with their copies apart, and where the GPU starts to win."""

from course.timing.clock import clock_for
from course.timing.copies import measure_copies
from course.timing.crossover import Crossover, crossover
from course.timing.elementwise import measure_ops
from course.timing.life_engines import measure_life
from course.timing.matmul import measure_matmul
from course.timing.roofline import Point, Roofline, roofline
from course.timing.stopwatch import measure
from course.timing.timing import Timing
from course.timing.trace_recorder import record_trace
from course.traces import MatmulTiming

__all__ = [
    "Crossover",
    "MatmulTiming",
    "Point",
    "Roofline",
    "Timing",
    "clock_for",
    "crossover",
    "measure",
    "measure_copies",
    "measure_life",
    "measure_matmul",
    "measure_ops",
    "record_trace",
    "roofline",
]
