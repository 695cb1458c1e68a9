"""An assignment: one lab of one class, with all that says how it is marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.class_file import ClassFile, read_course_file
from grader.classroom.folders import CourseFolder, find_lab, open_course
from grader.intake.roster import Person, read_roster
from grader.lab.source import load_lab
from grader.lab.spec import Lab


@dataclass(frozen=True)
class Assignment:
    """The class's folder `course`, the `lab` as `load_lab` gives it, the class file `rules`, the roster `people`."""

    course: CourseFolder
    lab: Lab
    rules: ClassFile = ClassFile()
    people: Sequence[Person] = ()


def open_assignment(root: Path, name: str) -> Assignment:
    """Return the `Assignment` of the lab so called in the class's folder at `root`. Raises ClassError or LabError."""
    course = open_course(root)
    rules = read_course_file(course)
    people = read_roster(course)
    return Assignment(course, load_lab(find_lab(course, name, rules.labs)), rules, people)
