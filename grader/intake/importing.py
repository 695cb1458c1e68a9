"""`import`: from a download of Canvas or Moodle (a zip, or its unpacked folder) to submitted/STUDENT/LAB/LAB.ipynb.

The platform's name of a file tells its owner, which is checked against the roster where there is one. A file whose
owner is uncertain is reported, recorded (`import_record.py`) and not imported. The others get the lab's name; the
notebook that was there before is kept (`attempts.py`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.folders import ClassError, CourseFolder, not_a_student, shown
from grader.intake.archive import open_download
from grader.intake.attempts import IMPORTED, PLATFORM, TEACHER, note_attempt, read_attempt, sha_of
from grader.intake.handed_in import choose
from grader.intake.import_record import CameAs, Unplaced, leave_out, left_out, remember_names, remember_unplaced
from grader.intake.moodle import Entry
from grader.intake.owners import CANVAS, FOLDERS, Unsure, owner_of, readings
from grader.intake.roster import Person
from grader.submission.read import Unreadable


@dataclass(frozen=True)
class Imported:
    """The outcome of the import for one student, and the reason (`note`).

    `action` is "new", "changed", "same", "refused", "nobody's", or "left out" for a file that the teacher left out.
    `came_as`: how the notebook came, or None.
    """

    student: str
    action: str
    note: str = ""
    came_as: CameAs | None = None

    def __str__(self) -> str:
        return f"{self.action:9} {self.student}" + (f": {self.note}" if self.note else "")


def import_download(
    course: CourseFolder,
    lab: str,
    path: Path | str,
    people: Sequence[Person] = (),
    worksheet: Mapping[str, Entry] | None = None,
    arrived: datetime | None = None,
    of_nobody: Sequence[str] = (),
) -> list[Imported]:
    """Import the download at `path` for `lab` (its name); return a list of `Imported`, by student.

    `people`: the roster. `worksheet`: Moodle's grading worksheet as `moodle.read_worksheet` gives it, whose times
    of the last change are those of arrival. `arrived`: a datetime that the teacher gives instead; else it is now.
    `of_nobody`: the beginnings of names of files that the teacher leaves out.
    """
    begun = datetime.now(UTC)
    with open_download(path) as download:
        files, lost = _by_student(download, people, worksheet)
        if not files and not any(readings(name) for name in download.names):
            raise ClassError(
                f"{path}: nothing in it has a name as Canvas, Moodle or folders of students give them, such as "
                "lovelaceada_1234_56789_lab.ipynb. Import the file as it was downloaded, or one folder a student."
            )
        keys = {_key(name, item) for sent in files.values() for name, _ in sent for item in readings(name)}
        remember_unplaced(course, lab, keys, lost)
        leave_out(course, lab, of_nobody)
        settled = left_out(course, lab)
        imports = [Imported(item.name, "left out" if item.key in settled else "nobody's", item.why) for item in lost]
        for student, sent in sorted(files.items()):
            times = [worksheet[s.number].modified for _, s in sent if worksheet and s.number in worksheet]
            by_platform = max((time for time in times if time is not None), default=None)
            when, by = (arrived, TEACHER) if arrived else (by_platform, PLATFORM) if by_platform else (begun, IMPORTED)
            imports.append(_take(course, lab, student, sent, download, when, by))
        remember_names(course, lab, {item.student: item.came_as for item in imports if item.came_as})
    return sorted(imports, key=lambda item: (item.student, item.action))


def _by_student(download, people, worksheet):
    """Return {student: [(name, Sent)]} and the `Unplaced`s: files without an owner, or with several."""
    files, lost, claims = defaultdict(list), [], defaultdict(set)

    def lose(name, why, may_be=()):
        possible = readings(name)
        sha = _sha(download, name)
        lost.append(Unplaced(shown(name), _key(name, possible[0] if possible else None), why, sha, tuple(may_be)))

    for name in download.names:
        possible = readings(name)
        if not possible:
            continue
        try:
            student, sent = owner_of(possible, people, worksheet)
        except Unsure as unsure:
            lose(name, str(unsure), unsure.may_be)
            continue
        files[student].append((name, sent))
        claims[student].add((sent.platform, sent.number, sent.who))
    for student, whose in claims.items():
        why = not_a_student(student)
        if why:
            why = f"{shown(student)} can't be a student's name: {why}."
        elif len(whose) > 1:
            names = ", ".join(sorted(shown(f"{sender} {number}".strip()) for _, number, sender in whose))
            why = f"two students' files would become {student}'s: {names}."
        for name, _ in files.pop(student) if why else ():
            lose(name, why, [student])
    for name in _nameless(download, files):
        lose(name, "its name says nobody's name. Put it at submitted/STUDENT/LAB/LAB.ipynb, or leave it out.")
    return files, lost


def _nameless(download, files):
    """Yield the notebooks without an owner, except those deep in the folder of a known student."""
    folders = {reading.who for sent in files.values() for _, reading in sent if reading.platform == FOLDERS}
    for name in download.names:
        parts = [part for part in name.replace("\\", "/").split("/") if part]
        hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
        if name.casefold().endswith(".ipynb") and not (readings(name) or hidden or parts[0] in folders):
            yield name


def _key(name, sent):
    """Return the platform's name of a file's sender, the same in its next download; else the file's own name."""
    return f"{sent.platform} {sent.who} {sent.number}".strip() if sent else shown(name)


def _sha(download, name):
    try:
        return sha_of(download.read(name))
    except Unreadable:
        return ""


def _take(course, lab, student, sent, download, arrived, by):
    folder = course.submitted(student, lab)
    if any(place.is_symlink() for place in (folder, folder.parent)):
        return Imported(student, "refused", f"{folder} is a symbolic link. Remove it and import again.")
    late = " The platform calls it late." if any(reading.late for _, reading in sent) else ""
    target = folder / f"{lab}.ipynb"
    names = {}
    for name, reading in sorted(sent, key=lambda pair: (pair[0].count("/"), pair[0])):
        names.setdefault(reading.file, name)  # the one outside of the student's folders goes first
    chosen, why = choose(names, lab)
    if chosen is not None and sum(reading.file == chosen and reading.platform == CANVAS for _, reading in sent) > 1:
        chosen, why = None, f"Two files are called {shown(chosen)}. Keep the right one."
    try:
        data = download.read(names[chosen]) if chosen is not None else None
    except Unreadable as problem:
        data, why = None, f"The notebook was not read: {problem}"
    before = target.read_bytes() if target.is_file() and not target.is_symlink() else None
    of = next((reading for name, reading in sent if chosen is not None and name == names[chosen]), sent[0][1])
    came_as = CameAs(of.platform, of.who, of.number, of.attachment)
    if data is None:
        _refuse(course, lab, student, target, before, why, arrived, by)
        return Imported(student, "refused", why, came_as)
    note_attempt(course, student, lab, data, arrived, by)
    if before != data:
        atomic.write(target, data)
    action = "same" if before == data else "changed" if before is not None else "new"
    return Imported(student, action, late.strip(), came_as)


def _refuse(course, lab, student, target, before, why, arrived, by):
    """Note a file that can't be imported; an earlier notebook stays in the attempts, and isn't marked in its place."""
    if before is not None:
        attempt = note_attempt(course, student, lab, before)
        if read_attempt(course, student, lab, attempt) == before:
            target.unlink()
    note_attempt(course, student, lab, None, arrived, by, why)
