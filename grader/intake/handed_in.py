"""Reading what a student handed in, from a folder in which anything may lie: nothing is followed, nothing waited for.

A link, a pipe, a device, a folder by a notebook's name: each is refused with a sentence, and none is opened in a way
that could hang or lead elsewhere. Sizes are looked at before reading, and reading stops at the limit all the same.
"""

import os
import re
import stat
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass

from grader.classroom.folders import CourseFolder, shown
from grader.submission.read import LIMIT

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MOST_FILES = 10_000
_ARCHIVE = re.compile(r"(?i)\.(zip|7z|rar|tar|t?gz|t?xz|bz2)$")
_NOTEBOOK = re.compile(r"(?i)\.ipynb(\.json|\.txt)?$")
_UNPACK = (
    " An archive is not opened. Unpack it yourself and put the notebook at submitted/STUDENT/{lab}/{lab}.ipynb, then "
    "run `grade` again; or have the .ipynb handed in itself, and import again."
)


@dataclass(frozen=True)
class HandedIn:
    """A student's folder for a lab: `state` "here" with the notebook's `data`, or "missing" or "refused" and why."""

    state: str
    data: bytes = b""
    reason: str = ""


def read_handed_in(course: CourseFolder, student: str, lab: str) -> HandedIn:
    """Return the `HandedIn` of `student` for `lab` (names; the student's is legal)."""
    with ExitStack() as opened:

        def folder(name, beside):
            # submitted/ itself is the teacher's and may be a link
            descriptor = os.open(name, _FOLDER if beside is not None else _FOLDER & ~os.O_NOFOLLOW, dir_fd=beside)
            opened.callback(os.close, descriptor)
            return descriptor

        try:
            here = folder(lab, folder(student, folder(course.root / "submitted", None)))
        except FileNotFoundError:
            return HandedIn("missing", reason="Nothing was handed in.")
        except OSError:  # ELOOP or ENOTDIR: a link, a file, a pipe where a folder is due
            return HandedIn("refused", reason=f"The folder of {lab} is a link or no folder: not followed.")
        return _read_folder(lab, here, opened)


def choose(names: Collection[str], lab: str) -> tuple[str | None, str]:
    """Return the name among `names` that is the lab's notebook, else None and why: (name, reason)."""
    notebooks = [name for name in names if _NOTEBOOK.search(name) and not name.startswith((".", "~"))]
    if not notebooks:
        listing = ", ".join(shown(name) for name in sorted(names)[:3])
        packed = _UNPACK.format(lab=lab) if any(_ARCHIVE.search(name) for name in names) else ""
        return None, "No notebook was handed in" + (f"; there is {listing}." if listing else ".") + packed
    best = min(_rank(name, lab) for name in notebooks)
    nearest = sorted(name for name in notebooks if _rank(name, lab) == best)
    if len(nearest) == 1:
        return nearest[0], ""
    listed = ", ".join(shown(name) for name in nearest[:5])
    return (
        None,
        f"{len(nearest)} notebooks were handed in and none is called {lab}.ipynb: {listed}. Keep the right one.",
    )


def _rank(name, lab):
    """How far a notebook's name is from the lab's: browsers number their downloads, Colab writes "Copy of"."""
    stem, wanted = _NOTEBOOK.sub("", name).casefold(), lab.casefold()
    is_it = (name == f"{lab}.ipynb", stem == wanted, stem.startswith(wanted), wanted in stem, True)
    return is_it.index(True)


def _read_folder(lab, here, opened):
    names = os.listdir(here)
    if len(names) > MOST_FILES:
        return HandedIn("refused", reason=f"{len(names)} files were handed in; {MOST_FILES} is the most.")
    name, why = choose(names, lab)
    if name is None:
        return HandedIn("refused" if "notebooks" in why else "missing", reason=why)
    try:
        descriptor = os.open(name, _FILE, dir_fd=here)
    except OSError as error:
        return HandedIn("refused", reason=f"{shown(name)} can't be opened and was not: {error.strerror}.")
    opened.callback(os.close, descriptor)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return HandedIn("refused", reason=f"{shown(name)} is no plain file, and was not read.")
    if status.st_size > LIMIT:
        return _too_large(f"it has {status.st_size / 1e6:.0f} MB")
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        data = file.read(LIMIT + 1)
    return HandedIn("here", data) if len(data) <= LIMIT else _too_large("it is larger than it says")


def _too_large(size):
    limit = f"{LIMIT / 1e6:.0f} MB is the most. Clear its outputs, save, and hand it in again."
    return HandedIn("refused", reason=f"The notebook was not read: {size}; {limit}")
