"""The programs: functions `(device, part)` that prepare what they need and return a step, to be called often.

`part` divides the largest sizes: 1 for a comparison with a real card, more where only the machinery is tried. A step
does the same each time, whatever the numbers; it ends with all its work queued on the current stream.
"""

from collections.abc import Callable

import torch

from benchmarks.modelled.programs import arithmetic, copies, layers, memory, networks, small, training

Step = Callable[[], object]
Program = Callable[[torch.device, int], Step]

ROOMS = (training, networks, layers, arithmetic, memory, copies, small)

#: Name -> program, in the order of the table.
PROGRAMS: dict[str, Program] = {program.__name__: program for room in ROOMS for program in room.PROGRAMS}
