"""In the place of nbgrader's autograder: a refusal, before anything of a submission is read or run."""

from typing import Any

from nbconvert.exporters import NotebookExporter

REFUSAL = (
    "Nothing was run. nbgrader's autograder would run students' code as you. Marks of this class are made in a "
    "sandbox: python -m grader grade COURSE_DIR --lab LAB"
)


class Refusal(NotebookExporter):
    """The exporter that nbgrader's Autograde makes first of all; it can't be made."""

    def __init__(self, *arguments: object, **settings: Any) -> None:
        raise RuntimeError(REFUSAL)
