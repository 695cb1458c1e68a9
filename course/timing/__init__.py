"""How long it takes, and what limits it: a stopwatch that waits, and where the GPU starts to win.

Read in this order: `clock` and `stopwatch` (one call, measured), `matmul` (a product, its copies apart), `op_times`
(ops, copies, Life), `crossover` (where the GPU starts to win), `roofline`, `track` and `limits` (what limits an op, and
a processor), `trace_recorder` (figures for others to read).
"""

import logging

from course.signals import held_back

# a CUDA build of torch, where there is CUDA's compiler and no GPU, says so when the stopwatch's Timer is imported
_compilers = logging.getLogger("torch.utils.cpp_extension")
_compilers.disabled, _before = True, _compilers.disabled
with held_back():  # an interrupt finds every import done, or none
    from course.timing.clock import clock_for
    from course.timing.crossover import Crossover, crossover
    from course.timing.limits import peak_operations, peak_reading
    from course.timing.matmul import measure_matmul
    from course.timing.op_times import measure_copies, measure_life, measure_ops
    from course.timing.roofline import Point, Roofline, roofline
    from course.timing.stopwatch import Timing, measure
    from course.timing.trace_recorder import record_trace
    from course.traces import MatmulTiming
_compilers.disabled = _before

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
    "peak_operations",
    "peak_reading",
    "record_trace",
    "roofline",
]
