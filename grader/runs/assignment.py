"""An assignment: one lab of one class, with its rules and its roster."""

from collections.abc import Callable, Sequence
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


def open_assignment(root: Path, name: str, tell: Callable[[str], object] = lambda line: None) -> Assignment:
    """Return the `Assignment` of the lab so called in the class's folder at `root`. Raises ClassError or LabError.

    `tell` hears of rows of the roster that are skipped.
    """
    course, rules, people = open_class(root, None, tell)
    return Assignment(course, load_lab(find_lab(course, name, rules.labs)), rules, people)


def open_class(
    root: Path, roster: Path | None = None, tell: Callable[[str], object] = lambda line: None
) -> tuple[CourseFolder, ClassFile, Sequence[Person]]:
    """Return the class's folder, its class file, and its roster, which may lie elsewhere. Raises ClassError.

    `tell` hears of rows of the roster that are skipped.
    """
    course = open_course(root)
    return course, read_course_file(course), read_roster(course, roster, tell)
