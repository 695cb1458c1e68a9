"""nbgrader's settings in a class's folder: formgrader shows these marks and can't make its own.

Its button *Autograde* would run students' code as whoever pressed it, and put the notebook as handed in, scripts and
all, where it shows notebooks. With this file in the folder that Jupyter is started in, the button says who makes marks.
"""

from grader.classroom import atomic
from grader.classroom.folders import CourseFolder

CONFIG = """\
# nbgrader's settings for this class: start Jupyter in this folder.
c = get_config()  # noqa: F821
# Marks are made by `python -m grader grade`, in a sandbox. nbgrader's own autograder would run students' code
# as you, and make the notebooks under autograded/ unsafe to look at; with this line it refuses.
c.Autograde.exporter_class = "grader.reports.no_autograder.Refusal"
"""

#: What the refusal was called while the grader was a room of the course.
FORMER, REFUSAL = "course.grading.no_autograder.Refusal", "grader.reports.no_autograder.Refusal"


def write_config(course: CourseFolder) -> bool:
    """Write nbgrader_config.py into the class's folder, unless there is one; return whether it was written.

    In one that is there, a teacher's own too, only the former name of the refusal is brought up to date.
    """
    path = course.root / "nbgrader_config.py"
    if path.is_symlink():
        return False
    if not path.exists():
        atomic.write(path, CONFIG)
        return True
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    if FORMER in text:
        atomic.write(path, text.replace(FORMER, REFUSAL).encode("utf-8", "surrogateescape"))
    return False
