"""The roster, `roster.csv`: the students of the class, and their names on the learning platforms.

One row a student; the column `student` is the name of the folder under submitted/. Other columns are found by the
names that Canvas and Moodle give them, so their own exports will do: a Canvas gradebook export (Student, ID, SIS User
ID, SIS Login ID, Section), a Moodle list of participants (First name, Last name, ID number, Email address).
"""

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from grader.classroom.folders import ClassError, CourseFolder, not_a_student

LIMIT = 20 * 1024 * 1024  # bytes

_STUDENT = ("student_id", "student id", "username", "sis login id", "login", "netid")
#: field -> the headings that mean it, in lower case.
_HEADINGS = {
    "student": _STUDENT,
    "name": ("name", "full name", "fullname"),
    "first": ("first name", "first_name", "firstname", "given name"),
    "last": ("last name", "last_name", "lastname", "surname", "family name"),
    "email": ("email", "email address", "e-mail"),
    "canvas_id": ("canvas_id", "canvas id", "id"),
    "sis_id": ("sis_id", "sis user id", "id number", "idnumber"),
    "login": ("sis login id", "login", "username"),
    "section": ("section", "group"),
}


@dataclass(frozen=True)
class Person:
    """One student: `student` is the folder's name, the others are as the platforms have them, or empty."""

    student: str
    name: str = ""
    first: str = ""
    last: str = ""
    email: str = ""
    canvas_id: str = ""
    sis_id: str = ""
    login: str = ""
    section: str = ""

    @property
    def full_name(self) -> str:
        """The name as one text, or empty."""
        return self.name or " ".join(part for part in (self.first, self.last) if part)


def read_roster(
    course: CourseFolder, path: Path | None = None, tell: Callable[[str], object] = lambda line: None
) -> list[Person]:
    """Return the `Person`s of `course`'s roster.csv (or of the file at `path`), [] where it has none.

    A wrong row is skipped and reported to `tell`: it names no student, its name is illegal, or an earlier row has its
    name or number. Raises ClassError for a file that is no roster.
    """
    place = path or course.root / "roster.csv"
    if path is None and not place.exists():
        return []
    people, lines, skipped = [], {}, 0
    for line, person in _people(place):
        why = _odd(person, line, lines)
        if why:
            skipped += 1
            tell(f"{place}, line {line}: {why}. The row is skipped.")
        else:
            people.append(person)
    if skipped and not people:
        raise ClassError(f"{place} has no row that can be a student's. Correct it; each wrong row is named above.")
    return people


def _odd(person, line, lines):
    """Return why the row is wrong, or None; `lines`: (key, value) -> the line that had it."""
    if not person.student:
        return "it names no student"
    if any("\n" in value for value in astuple(person)):
        return "a quotation mark that is not closed makes one row of it and the lines above it. Close it, or remove it"
    why = not_a_student(person.student)
    if why:
        return f"{person.student!r} can't be a student's name: {why}"
    keys = [(key, getattr(person, key).casefold()) for key in ("student", "canvas_id") if getattr(person, key)]
    for key, value in keys:
        if (key, value) in lines:
            return f"{getattr(person, key)!r} stands in line {lines[key, value]} already ({key})"
    lines.update(dict.fromkeys(keys, line))
    return None


def read_table(path: Path | str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, {heading in lower case: text}) of a CSV file; commas, semicolons or tabs; UTF-8 or UTF-16."""
    try:
        with open(path, "rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise ClassError(f"{path} can't be read: {error.strerror}.") from None
    if len(data) > LIMIT:
        raise ClassError(f"{path} is no roster: it has more than {LIMIT / 1e6:.0f} MB.")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise ClassError(f"{path} is not text in UTF-8. Save it as CSV in UTF-8.") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=text.split("\n", 1)[0].count))
    try:
        headings = [heading.strip() for heading in next(reader, [])]
        for row in reader:
            if any(cell.strip() for cell in row):
                cells = [cell.strip() for cell in row] + [""] * len(headings)
                yield reader.line_num, dict(zip(headings, cells, strict=False))
    except csv.Error as error:
        raise ClassError(f"{path}, line {reader.line_num}: {error}.") from None


def same_name(text: str) -> str:
    """Return a person's name as it is compared: no case, accents or punctuation, the parts in alphabetical order."""
    plain = "".join(
        character for character in unicodedata.normalize("NFKD", text) if not unicodedata.combining(character)
    )
    return " ".join(sorted(re.findall(r"\w+", plain.casefold())))


def _people(path):
    for line, row in read_table(path):
        row = {heading.casefold(): value for heading, value in row.items()}
        canvas = "sis user id" in row or "sis login id" in row
        if canvas and ("points possible" in row.get("student", "").casefold() or not row.get("id")):
            continue  # Canvas's second row, and the student that it makes for tests
        columns = {field.name: _first(row, field.name, canvas) for field in fields(Person)}
        columns["student"] = columns["student"] or columns["email"]
        if not columns["student"] and not row.keys() & {"student", *_STUDENT, *_HEADINGS["email"]}:
            raise ClassError(
                f"{path}, line {line}: no column says which folder under submitted/ is this student's. Name one of the "
                f"columns `student` (there are: {', '.join(row) or 'none'})."
            )
        yield line, Person(**columns)


def _first(row, name, canvas):
    """Return the cell under the headings of `name`; in Canvas's export Student is the name, ID is Canvas's own."""
    if canvas and name in ("student", "name"):
        return row.get("student", "") if name == "name" else row.get("sis login id") or row.get("sis user id", "")
    headings = ("canvas_id", "canvas id") if name == "canvas_id" and not canvas else (name, *_HEADINGS[name])
    return next((row[heading] for heading in headings if row.get(heading)), "")
