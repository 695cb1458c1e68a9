"""What a training would take on more machines than there are: processes and their costs, run in simulated seconds.

Read in this order: `costs` (what a message, a byte and an update cost, as a real machine has recorded), `designs` (who
sends what to whom), `events` (who runs when), `simulate` (how long it takes).
"""

from course.scale.costs import Costs
from course.scale.simulate import DESIGNS, simulate

__all__ = ["DESIGNS", "Costs", "simulate"]
