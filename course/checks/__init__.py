"""`check(answer)` under an exercise: passes, or prints the smallest counterexample it found.

A check works from an oracle (a slow reference, or a property that a right answer has), so it holds no solution. The
exercises of a chapter stand in the file named after its room: `chapters/ch03_life.py`, …; those of a lab
in the `checks.py` that lies beside its notebook.
"""

from course.checks.check import Verdict, check, find_exercise
from course.checks.compare import same, show
from course.checks.exercise import Case, Exercise

__all__ = ["Case", "Exercise", "Verdict", "check", "find_exercise", "same", "show"]
