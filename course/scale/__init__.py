"""What a training would take on more machines than there are: processes and their costs, run in simulated seconds.

Read in this order: `message_costs` (what a message and a byte cost), `servers` and `designs` (who sends what to whom),
`events` (who runs when), `simulate` (how long it takes), `recorded` (costs and trainings of a real machine). The others
stand alone: `all_reduce`, a ring and a server on links alone, `waiting`, requests in line at one server, `prices`,
what machines cost in dollars and core-hours. `nine_hours` puts them together for one task, that of all chapters.
"""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.scale.message_costs import Costs
    from course.scale.recorded import Recorded, Run, recorded
    from course.scale.simulate import DESIGNS, simulate

__all__ = ["DESIGNS", "Costs", "Recorded", "Run", "recorded", "simulate"]
