"""`import`: from a download of Canvas or Moodle (a zip, or its unpacked folder) to submitted/STUDENT/LAB/LAB.ipynb.

Who a file belongs to is read from the name that the platform gave it, and checked against the roster where there is
one. What is not sure is told and not taken, and the rest goes on. The file is renamed to the lab's name; what was
there before is kept (`attempts.py`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.folders import ClassError, CourseFolder, not_a_student, shown
from grader.intake.archive import open_download
from grader.intake.attempts import IMPORTED, PLATFORM, TEACHER, note_attempt, read_attempt
from grader.intake.handed_in import choose
from grader.intake.moodle import Entry
from grader.intake.owners import CANVAS, Unsure, owner_of, readings
from grader.intake.roster import Person
from grader.submission.read import Unreadable


@dataclass(frozen=True)
class Imported:
    """What became of one student's files: `action` is "new", "changed", "same", "refused" or "nobody's"; `note` why."""

    student: str
    action: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.action:9} {self.student}" + (f": {self.note}" if self.note else "")


def import_download(
    course: CourseFolder,
    lab: str,
    path: Path | str,
    people: Sequence[Person] = (),
    worksheet: Mapping[str, Entry] | None = None,
    arrived: datetime | None = None,
) -> list[Imported]:
    """Import the download at `path` for `lab` (its name); return a list of `Imported`, by student.

    `people`: the roster. `worksheet`: Moodle's grading worksheet as `moodle.read_worksheet` gives it, whose record of
    each last change is when the file arrived. `arrived`: the teacher's word on that, a datetime; else it is now.
    """
    now = datetime.now(UTC)
    with open_download(path) as download:
        files, told = _by_student(download, people, worksheet)
        for student, sent in sorted(files.items()):
            times = [worksheet[s.number].modified for _, s in sent if worksheet and s.number in worksheet]
            by_platform = max((time for time in times if time is not None), default=None)
            when, by = (arrived, TEACHER) if arrived else (by_platform, PLATFORM) if by_platform else (now, IMPORTED)
            told.append(_take(course, lab, student, sent, download, when, by))
    if not told:
        raise ClassError(
            f"{path}: nothing in it has a name as Canvas, Moodle or folders of students give them, such as "
            "lovelaceada_1234_56789_lab.ipynb. Import the file as it was downloaded, or one folder a student."
        )
    return sorted(told, key=lambda one: (one.student, one.action))


def _by_student(download, people, worksheet):
    """Return {student: [(name, Sent)]} and the list of what is no one's or contested."""
    files, told, claims = defaultdict(list), [], defaultdict(set)
    for name in download.names:
        found = readings(name)
        if not found:
            continue
        try:
            student, sent = owner_of(found, people, worksheet)
        except Unsure as why:
            told.append(Imported(shown(name), "nobody's", str(why)))
            continue
        files[student].append((name, sent))
        claims[student].add((sent.platform, sent.number, sent.who))
    for student, whose in claims.items():
        if len(whose) > 1:
            names = ", ".join(sorted(shown(f"{who} {number}".strip()) for _, number, who in whose))
            del files[student]
            told.append(Imported(student, "nobody's", f"two students' files would become this one's: {names}."))
    return files, told


def _take(course, lab, student, sent, download, arrived, by):
    folder = course.submitted(student, lab)
    if why := not_a_student(student):
        return Imported(shown(student), "nobody's", f"this can't be a student's name: {why}.")
    if any(place.is_symlink() for place in (folder, folder.parent)):
        return Imported(student, "refused", f"{folder} is a symbolic link. Remove it and import again.")
    late = " The platform calls it late." if any(one.late for _, one in sent) else ""
    target = folder / f"{lab}.ipynb"
    names = {}
    for name, one in sorted(sent, key=lambda pair: (pair[0].count("/"), pair[0])):
        names.setdefault(one.file, name)  # of two by one name the one that lies in no folder of the student's
    chosen, why = choose(names, lab)
    if chosen is not None and sum(one.file == chosen and one.platform == CANVAS for _, one in sent) > 1:
        chosen, why = None, f"Two files are called {shown(chosen)}. Keep the right one."
    try:
        data = download.read(names[chosen]) if chosen is not None else None
    except Unreadable as problem:
        data, why = None, f"The notebook was not read: {problem}"
    before = target.read_bytes() if target.is_file() and not target.is_symlink() else None
    if data is None:
        return _refuse(course, lab, student, target, before, why, arrived, by)
    note_attempt(course, student, lab, data, arrived, by)
    if before == data:
        return Imported(student, "same", late.strip())
    atomic.write(target, data)
    return Imported(student, "changed" if before is not None else "new", late.strip())


def _refuse(course, lab, student, target, before, why, arrived, by):
    """Note that what came can't be taken; an earlier notebook stays in the attempts, and isn't marked in its place."""
    if before is not None:
        kept = note_attempt(course, student, lab, before)
        if read_attempt(course, student, lab, kept) == before:
            target.unlink()
    note_attempt(course, student, lab, None, arrived, by, why)
    return Imported(student, "refused", why)
