"""What formgrader reads beside the gradebook: a notebook a student, in safe form, and a note of when it came."""

from datetime import UTC

from grader.classroom import atomic
from grader.classroom.folders import ClassError
from grader.runs.results import read_result


def write_autograded(course, lab, one):
    """Write the notebook that formgrader shows of `one` (`grade.Graded`), in safe form; none where nothing was read.

    `autograded/STUDENT/LAB/LAB.ipynb` is left alone where it is of the same result already.
    """
    path = course.autograded(one.student, lab.name)
    if any(place.is_symlink() for place in (path, path.parent, path.parent.parent)):
        raise ClassError(f"{path} or a folder of it is a symbolic link. Remove it, then run the same command again.")
    result = read_result(course, lab.name, one.student, one.sha) if one.sha else None
    if result is None:
        path.unlink(missing_ok=True)
        return
    _write_timestamp(course.submitted(one.student, lab.name), one.arrived)
    stamp = {"sha": result.sha, "at": result.at.isoformat()}
    if ((atomic.read_json(path) or {}).get("metadata") or {}).get("course") == stamp:
        return
    import nbformat

    from grader.reports.autograded import safe_notebook

    notebook = safe_notebook(lab, result.marks)
    notebook.metadata["course"] = stamp
    atomic.write(path, nbformat.writes(notebook, version=4) + "\n")


def _write_timestamp(folder, arrived):
    """Leave nbgrader's note of when it arrived: where it differs from the gradebook's, formgrader says "not graded".

    It is written for nbgrader and never read here: a student could have handed in one of their own.
    """
    if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
        return
    text = f"{arrived.astimezone(UTC).replace(tzinfo=None)} UTC"
    path = folder / "timestamp.txt"
    if path.is_symlink() or not path.is_file() or path.read_bytes()[:100] != text.encode():
        atomic.write(path, text)
