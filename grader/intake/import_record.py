"""What the imports of a lab leave to be remembered: the names its notebooks came by, and what could not be placed.

`grading/imports/LAB.json`. A file that is nobody's may be the work of somebody who seems to have handed in nothing:
until it is settled whose it is, no zero is made of that. It is settled when a later import places it (the roster was
mended), when the same bytes were put into a student's folder by hand, or when the teacher leaves it out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from grader.classroom import atomic
from grader.classroom.folders import ClassError, CourseFolder, shown


@dataclass(frozen=True)
class Unplaced:
    """One file of nobody's: its `name` in the download, `key` (what a platform calls its sender by), and `why`.

    `sha` names its bytes (empty where they were not read); `may_be`: whose it may be, () for anybody's; `left_out`: the
    teacher says that it is nobody's of this class.
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
    """Note what an import of `lab` `lost`; what has one of the keys `placed` is settled."""
    told = _read(course, lab)
    known = {one.key: one for one in _unplaced(told)}
    for one in sorted(lost, key=lambda one: one.name.casefold().endswith(".ipynb")):  # of one sender's the notebook
        known[one.key] = replace(one, left_out=one.key in known and known[one.key].left_out)
    _write(course, lab, told.get("names", {}), [one for one in known.values() if one.key not in placed])


def remember_names(course: CourseFolder, lab: str, names: Mapping[str, CameAs]) -> None:
    """Note how the notebooks of `lab` came: `names` is student -> `CameAs`."""
    told = _read(course, lab)
    fresh = {student: asdict(one) for student, one in names.items()}
    _write(course, lab, {**told.get("names", {}), **fresh}, _unplaced(told))


def came_as(course: CourseFolder, lab: str) -> dict[str, CameAs]:
    """Return {student: `CameAs`} of the notebooks of `lab` that were imported."""
    return {student: CameAs(**one) for student, one in _read(course, lab).get("names", {}).items()}


def unplaced(course: CourseFolder, lab: str) -> list[Unplaced]:
    """Return what is not settled of `lab` (its name)."""
    told, names = _unplaced(_read(course, lab)), came_as(course, lab)
    return [one for one in told if not one.left_out and not _put_by_hand(course, lab, one, names)]


def _put_by_hand(course, lab, one, names):
    """Whether a student has these bytes, and not because a file like it came for them as well: people copy."""
    holders = {path.parent.name for path in (course.kept / "attempts" / lab).glob(f"*/{one.sha}.ipynb") if one.sha}
    return any(who not in names or not one.key.startswith((names[who].platform, one.name)) for who in holders)


def left_out(course: CourseFolder, lab: str) -> set[str]:
    """Return the keys of what the teacher left out of `lab`."""
    return {one.key for one in _unplaced(_read(course, lab)) if one.left_out}


def leave_out(course: CourseFolder, lab: str, words: Sequence[str]) -> list[str]:
    """Settle what was not placed and begins with one of `words` as nobody's of this class; return the files' names.

    Raises ClassError for a word that nothing unplaced begins with.
    """
    told, chosen = _read(course, lab), set()
    lost = _unplaced(told)
    for word in words:
        found = {one for one in lost if word and one.name.startswith(word)}
        if not found:
            there = ", ".join(one.name for one in lost[:5]) or "nothing"
            raise ClassError(f"--leave-out {shown(word)!r}: nothing that was not placed begins so. There is: {there}.")
        chosen |= found
    _write(course, lab, told.get("names", {}), [replace(one, left_out=one.left_out or one in chosen) for one in lost])
    return sorted(one.name for one in chosen)


def may_be_theirs(lost: Sequence[Unplaced], student: str, has_nothing: Callable[[str], bool]) -> list[Unplaced]:
    """Return which of `lost` may be the work of `student`, who has handed in nothing.

    One that may be somebody's is theirs while one of them `has_nothing`; else, as one with no name at all, anybody's.
    """
    return [one for one in lost if student in one.may_be or not any(has_nothing(other) for other in one.may_be)]


def _unplaced(told):
    return [Unplaced(**{**one, "may_be": tuple(one["may_be"])}) for one in told.get("unplaced", ())]


def _read(course: CourseFolder, lab: str) -> dict[str, Any]:
    return atomic.read_json(_path(course, lab)) or {}


def _write(course, lab, names, lost):
    atomic.write_json(_path(course, lab), {"names": names, "unplaced": [asdict(one) for one in lost]})


def _path(course, lab):
    return course.kept / "imports" / f"{lab}.json"
