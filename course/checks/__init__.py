"""`check(answer)` under an exercise: passes, or prints the smallest counterexample it found.

A check works from an oracle (a slow reference, or a property that a right answer has), so it holds no solution. The
exercises of a chapter stand in the file named after its room: `checks/life.py`, `checks/pi.py`, ….
"""

from course.checks.check import Verdict, check, find_exercise
from course.checks.exercise import Exercise, same, show

__all__ = ["Exercise", "Verdict", "check", "find_exercise", "same", "show"]
