"""Recorded figures: what other machines took, with hardware, versions and date, so that nobody needs their machine.

Two kinds, never mixed with what your machine measures. A `Trace` was *recorded*: a real machine took these seconds. A
`DataSheet` holds a vendor's peak figures, from which seconds are *modelled*; nobody measured them. A leaf: it reads and
checks files, and measures nothing (`course.timing.record_trace` does).

Read in this order: `measured_or_modelled` (what every figure says of itself), `timings` (the figures), `trace`,
`datasheet`, `files` (where they are read and checked).
"""

from course.traces.datasheet import DataSheet
from course.traces.files import load_trace, names, validate
from course.traces.timings import CopyTiming, LifeTiming, MatmulTiming, OpTiming
from course.traces.trace import Trace

__all__ = [
    "CopyTiming",
    "DataSheet",
    "LifeTiming",
    "MatmulTiming",
    "OpTiming",
    "Trace",
    "load_trace",
    "names",
    "validate",
]
