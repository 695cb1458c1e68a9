"""`check(answer)` under an exercise: passes, or prints the smallest counterexample it found.

A check works from an oracle (a slow reference, or a property that a right answer has), so it holds no solution. What is
asked lies beside the notebook that asks it: `notebooks/ch03_life_checks.py`, a lab's `checks.py`.

Read in this order: `exercise` (what is asked), `discovery` (where it lies), `calling` and `time_limit` (the answer is
run), `check` (the verdict), `compare`, `mistakes`, `shrink` (the smallest counterexample), `watched_gpus`, `lap`,
`noted`.
"""

from course.signals import held_back

with held_back():  # an interrupt finds every import done, or none
    from course.checks.check import Verdict, check, find_exercise
    from course.checks.compare import same, show
    from course.checks.exercise import Case, Exercise
    from course.checks.lap import lap

__all__ = ["Case", "Exercise", "Verdict", "check", "find_exercise", "lap", "same", "show"]
