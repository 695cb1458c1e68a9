"""What a training would take on more machines than there are: processes and their costs, run in simulated seconds.

Read in this order: `costs` (what a message and a byte cost), `designs` (who sends what to whom), `events` (who runs
when), `simulate` (how long it takes), `recorded` (the costs and the trainings of a real machine).
"""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.scale.costs import Costs
    from course.scale.recorded import Recorded, Run, recorded
    from course.scale.simulate import DESIGNS, simulate

__all__ = ["DESIGNS", "Costs", "Recorded", "Run", "recorded", "simulate"]
