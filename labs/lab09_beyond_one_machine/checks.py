"""Lab 09's exercises: workers and walltime for a budget, a job that is killed, tasks near their data.

No cluster: the job's machine is an object that answers, and each life of the job is a process that is really killed.
"""

from contextlib import nullcontext
from functools import partial
from operator import index

from course.checks.exercise import Exercise, Observed, by_name, strategy

from . import cases, oracles, words
from .driver import drive_job
from .machine import Machine

_drawn = partial(strategy, f"{__package__}.strategies")


def _on_this_machine(answer, case):
    machine = Machine(case.plan)
    answer = getattr(answer, "__wrapped__", answer)  # as written: a life that was warned may well return nothing
    gave = drive_job(answer, lambda: nullcontext(machine.ask), *case.arguments)
    return None if gave is None else Observed(gave, machine.record)


EXERCISES = by_name(
    Exercise(
        "choose",
        cases.choices,
        oracles.tried_choices,
        inputs=_drawn("choices"),
        oracle="every queue, every number of workers, every walltime tried against the limits, and the first kept",
        hint="the walltime follows from the workers; then ask of each pair whether its queue and the budget allow it.",
    ),
    Exercise(
        "job",
        cases.lives,
        judge=oracles.judge_job,
        told=words.of_job,
        in_kernel=_on_this_machine,
        oracle="the machine's record: which life asked for which step, from which state, and what it wrote when",
        hint="write beside the checkpoint, then os.replace; the handler of a signal only notes that it came.",
    ),
    Exercise(
        "near_data",
        cases.placings,
        judge=oracles.judge_placing,
        read=lambda got: [index(node) for node in got],
        wants="a list of whole numbers",
        inputs=_drawn("placings"),
        oracle="the fewest bytes, by all ways to fill the slots, task after task",
        hint="what a task saves on a node is what lies there; scipy.optimize.linear_sum_assignment pairs things off.",
    ),
    Exercise(
        "schedule",
        cases.schedules,
        judge=oracles.judge_schedule,
        read=lambda got: [(index(node), index(slot)) for node, slot in got],
        wants="a list of pairs (node, slot)",
        inputs=_drawn("schedules"),
        oracle="the best of all schedules of a few tasks; of many, the rule of the text, and a time that none can beat",
        hint="work out first how long each task takes on each node, its moves included.",
    ),
)
