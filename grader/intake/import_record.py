"""The record of a lab's imports: the names its notebooks came by, and the files that could not be placed.

`grading/imports/LAB.json`. A file without an owner may be the work of a student who seems to have handed in nothing:
until its owner is settled, that student gets no zero. It is settled when a later import places it (the roster was
corrected), when the same bytes were put into a student's folder by hand, or when the teacher leaves it out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from grader.classroom import atomic
from grader.classroom.folders import ClassError, CourseFolder, shown


@dataclass(frozen=True)
class Unplaced:
    """One file without an owner: its `name` in the download, `key` (the platform's name of its sender), and `why`.

    `sha` names its bytes (empty where they were not read); `may_be`: students who may own it, () for anybody;
    `left_out`: the teacher says that it belongs to nobody in this class.
    """

    name: str
    key: str
    why: str
    sha: str = ""
    may_be: tuple[str, ...] = ()
    left_out: bool = False


@dataclass(frozen=True)
class CameAs:
    """How a student's notebook came last: from which `platform`, of `who` by which `number`; Canvas's `attachment`."""

    platform: str
    who: str
    number: str
    attachment: str = ""


def remember_unplaced(course: CourseFolder, lab: str, placed: Collection[str], lost: Sequence[Unplaced]) -> None:
    """Note the files that an import of `lab` `lost`; those with a key in `placed` are settled."""
    record = _read(course, lab)
    unplaced_files = {file.key: file for file in _unplaced(record)}
    for file in sorted(lost, key=lambda file: file.name.casefold().endswith(".ipynb")):  # of one sender's the notebook
        unplaced_files[file.key] = replace(
            file, left_out=file.key in unplaced_files and unplaced_files[file.key].left_out
        )
    _write(course, lab, record.get("names", {}), [file for file in unplaced_files.values() if file.key not in placed])


def remember_names(course: CourseFolder, lab: str, names: Mapping[str, CameAs]) -> None:
    """Note how the notebooks of `lab` came: `names` is student -> `CameAs`."""
    record = _read(course, lab)
    fresh = {student: asdict(sender) for student, sender in names.items()}
    _write(course, lab, {**record.get("names", {}), **fresh}, _unplaced(record))


def came_as(course: CourseFolder, lab: str) -> dict[str, CameAs]:
    """Return {student: `CameAs`} of the notebooks of `lab` that were imported."""
    return {
        student: CameAs(**fields_of_sender) for student, fields_of_sender in _read(course, lab).get("names", {}).items()
    }


def unplaced(course: CourseFolder, lab: str) -> list[Unplaced]:
    """Return the files of `lab` (its name) that are not settled."""
    files, names = _unplaced(_read(course, lab)), came_as(course, lab)
    return [file for file in files if not file.left_out and not _put_by_hand(course, lab, file, names)]


def _put_by_hand(course, lab, file, names):
    """Whether a student has these bytes by hand, not from an import of theirs: two students may hand in the same."""
    holders = {path.parent.name for path in (course.records / "attempts" / lab).glob(f"*/{file.sha}.ipynb") if file.sha}
    return any(
        student not in names or not file.key.startswith((names[student].platform, file.name)) for student in holders
    )


def left_out(course: CourseFolder, lab: str) -> set[str]:
    """Return the keys of the files that the teacher left out of `lab`."""
    return {file.key for file in _unplaced(_read(course, lab)) if file.left_out}


def leave_out(course: CourseFolder, lab: str, words: Sequence[str]) -> list[str]:
    """Leave out the files whose names begin with one of `words`; return their names.

    Raises ClassError for a word with which no file without an owner begins.
    """
    record, chosen = _read(course, lab), set()
    lost = _unplaced(record)
    for word in words:
        matching = {file for file in lost if word and file.name.startswith(word)}
        if not matching:
            listing = ", ".join(file.name for file in lost[:5]) or "nothing"
            raise ClassError(
                f"--leave-out {shown(word)!r}: nothing that was not placed begins so. There is: {listing}."
            )
        chosen |= matching
    _write(
        course, lab, record.get("names", {}), [replace(file, left_out=file.left_out or file in chosen) for file in lost]
    )
    return sorted(file.name for file in chosen)


def may_be_theirs(lost: Sequence[Unplaced], student: str, has_nothing: Callable[[str], bool]) -> list[Unplaced]:
    """Return the files of `lost` that may be the work of `student`, who has handed in nothing.

    A file with possible owners may be theirs while one of them `has_nothing`; any other file may be anybody's.
    """
    return [file for file in lost if student in file.may_be or not any(has_nothing(other) for other in file.may_be)]


def _unplaced(record):
    return [Unplaced(**{**entry, "may_be": tuple(entry["may_be"])}) for entry in record.get("unplaced", ())]


def _read(course: CourseFolder, lab: str) -> dict[str, Any]:
    return atomic.read_json(_path(course, lab)) or {}


def _write(course, lab, names, lost):
    atomic.write_json(_path(course, lab), {"names": names, "unplaced": [asdict(file) for file in lost]})


def _path(course, lab):
    return course.records / "imports" / f"{lab}.json"
