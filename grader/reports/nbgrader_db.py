"""Opens nbgrader's gradebook; a sentence for each problem: locked, corrupt, read-only, no alembic, no nbgrader."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.classroom.folders import ClassError, CourseFolder

#: Seconds that another program may hold the gradebook before we give up.
PATIENCE = 20


@contextlib.contextmanager
def open_gradebook(course: CourseFolder) -> Iterator[Any]:
    """Open the gradebook within the `with`. Raises ClassError for every problem with it."""
    try:
        from nbgrader.api import Gradebook
        from sqlalchemy.exc import DatabaseError, SAWarning
    except ImportError:
        raise ClassError(
            "nbgrader is not installed, so its gradebook was not written. Run `pip install 'course[grading]'`, then "
            "the same command again."
        ) from None
    path = course.gradebook
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ClassError(f"{path} is a link or no plain file. Put the gradebook itself there.")
    fresh = not path.exists() or path.stat().st_size == 0
    try:
        with _alembic(), warnings.catch_warnings():
            # nbgrader's own use of SQLAlchemy 2 gives them
            warnings.simplefilter("ignore", SAWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            with contextlib.closing(Gradebook(f"sqlite:///{path}?timeout={PATIENCE}")) as book:
                if fresh:
                    path.chmod(0o600)  # marks are no one else's business
                yield book
    except FileNotFoundError as error:
        if fresh:  # tables without their version: nbgrader would take it for one made before it had any
            path.unlink(missing_ok=True)
        raise ClassError(
            f"a new gradebook needs the program alembic, and it is not on the path ({error.filename}). It comes with "
            f"nbgrader: run `{sys.executable} -m pip install alembic`, then the same command again."
        ) from None
    except DatabaseError as error:
        raise ClassError(_trouble(path, error.orig)) from None


def _trouble(path, error):
    problem = str(error)
    if "locked" in problem:
        return (
            f"{path} is in use by another program (formgrader, a second grading). Its marks are as they were, and the "
            "new ones are kept: run the same command again when it is closed."
        )
    if "readonly" in problem or "unable to open" in problem:
        return f"{path} can't be written ({problem}). Correct its owner or rights, then run the same command again."
    return (
        f"{path} is no gradebook, or a broken one ({problem}). Put a backup in its place, or move it away "
        f"(`mv {path} {path}.broken`): the same command then makes a new one of the marks that are kept. What persons "
        "entered stands in the old one only."
    )


@contextlib.contextmanager
def _alembic():
    """Let nbgrader find the `alembic` beside this Python, also where its environment isn't activated."""
    before = os.environ.get("PATH", "")
    beside = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([beside, before]) if before else beside
    try:
        yield
    finally:
        os.environ["PATH"] = before
