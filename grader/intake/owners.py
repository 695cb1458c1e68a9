"""The student who owns a file of a download, by the names that Canvas and Moodle give files and by the roster.

    Canvas          lovelaceada_LATE_1234_56789_lab03_game_of_life-1.ipynb    who, [LATE,] user, file, its name
    … anonymous     anon_x7Fq2_56789_lab03_game_of_life.ipynb
    Moodle          Ada Lovelace_1234_assignsubmission_file/lab03_game_of_life.ipynb    (before 4.1 with a last "_")
    … in one folder Ada Lovelace_1234_assignsubmission_file_lab03_game_of_life.ipynb
    folders         ada/lab03_game_of_life.ipynb, ada/lab03_game_of_life/lab03_game_of_life.ipynb

From canvas-lms `lib/content_zipper.rb` and Moodle's `mod/assign/classes/downloader.php` and `importziplib.php`.
Students choose the last part, and often the name they are shown by, so a name that can be read in two ways has two
readings, and the roster decides.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.intake.moodle import Entry
from grader.intake.roster import Person, same_name

CANVAS, MOODLE, FOLDERS = "canvas", "moodle", "folders"
_CANVAS = re.compile(r"_(\d+)_(\d+)_")
_ANONYMOUS = re.compile(r"(?:.*_)?(anon_[0-9A-Za-z]+)_(\d+)_(.+)", re.S)
_MOODLE = re.compile(r"(?P<who>[^_]+)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<rest>.*)", re.S)


@dataclass(frozen=True)
class Sent:
    """One way to read a name in a download: `file` of `who`, who has this `number`; `late`: the platform says so.

    `attachment`: the number that Canvas gave the file itself.
    """

    platform: str
    who: str
    number: str
    file: str
    late: bool = False
    attachment: str = ""


class Unsure(Exception):
    """The owner is uncertain; the text says why, and what would settle it. `may_be`: students who may own it."""

    def __init__(self, why: str, may_be: Iterable[str] = ()):
        super().__init__(why)
        self.may_be = tuple(sorted(set(may_be)))


def readings(path: str) -> list[Sent]:
    """Return every way to read `path`, a name inside a download with "/" between its parts; [] where there is none."""
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    if any(part in (".", "..") or part.startswith((".", "__MACOSX")) for part in parts):
        return []
    for position, part in enumerate(parts):
        match = _MOODLE.fullmatch(part)
        if match:
            rest = [part for part in (match["rest"], *parts[position + 1 :]) if part]
            is_file = match["kind"] == "file" and rest
            return [Sent(MOODLE, match["who"], match["number"], rest[-1])] if is_file else []
    last = parts[-1] if parts else ""
    if len(parts) <= 2 and (canvas := _canvas(last)):
        return canvas
    return [Sent(FOLDERS, parts[0], "", last)] if len(parts) in (2, 3) else []


def _canvas(name):
    anonymous = _ANONYMOUS.fullmatch(name)
    if anonymous:
        return [Sent(CANVAS, "", anonymous[1], anonymous[3], attachment=anonymous[2])]
    readings_of_it, position = [], 0
    while match := _CANVAS.search(name, position):
        prefix, file = name[: match.start()], name[match.end() :]
        sender = prefix.removesuffix("_LATE")
        if sender and file:
            readings_of_it.append(Sent(CANVAS, sender, match[1], file, sender != prefix, match[2]))
        position = match.start() + 1
    return readings_of_it


def owner_of(possible: list[Sent], people: Sequence[Person], worksheet: Mapping[str, Entry] | None) -> tuple[str, Sent]:
    """Return (student, `Sent`) for the readings `possible` of one name, by roster and worksheet. Raises Unsure."""
    owners = [(student, sent) for sent in possible for student in _owners(sent, people, worksheet)]
    if people and len(possible) > 1:
        # a carefully chosen name can make a second reading: then all numbers must belong to one student
        if not any(person.canvas_id for person in people):
            candidates = {student for student, _ in owners}
            raise Unsure(
                "it can be read in several ways. Add a column canvas_id to roster.csv, which tells.", candidates
            )
        numbers = {sent.number for sent in possible}
        owners += [(person.student, possible[0]) for person in people if person.canvas_id in numbers]
    students = {student for student, _ in owners}
    if len(students) == 1:
        return owners[0]
    if students:
        several = " or ".join(sorted(students))
        raise Unsure(f"it can be read as {several}'s. Put it into the right folder by hand.", students)
    why, may_be = _conflict(possible[0], people, worksheet)
    raise Unsure(f"{why}. If it is theirs, correct roster.csv, then import again.", may_be)


def likely(text: str, people: Sequence[Person]) -> list[str]:
    """Return the students of the roster whom `text`, the name of a folder, may mean, whatever its case and order."""
    wanted = same_name(text)
    return [person.student for person in people if wanted and wanted in {same_name(form) for form in _called(person)}]


def _called(person):
    yield from (person.student, person.full_name, person.email, person.login, person.sis_id, person.canvas_id)
    # as an import without a roster calls them
    yield from (f"{name} {person.canvas_id}" for name in (person.full_name, *_canvas_names(person)))


def _conflict(sent, people, worksheet):
    """Return why `sent` has no owner, in words, and the students who may own it."""
    sender = f"{sent.who} {sent.number}".strip()
    nobody = f"nobody in the roster is {sender!r}"
    if sent.platform == FOLDERS:
        near = likely(sent.who, people)
        return f"no student is called {sent.who}" + (f"; {', '.join(near)} is" if near else ""), near
    if sent.platform == MOODLE:
        entry = (worksheet or {}).get(sent.number)
        if entry is None:
            return f"{nobody} (a worksheet, --worksheet FILE, would tell who participant {sent.number} is)", ()
        about = ", ".join(value for value in (entry.email, entry.id_number, entry.login) if value)
        problem = f"participant {sent.number} is {entry.name} ({about or 'no address'}) in the worksheet"
        return f"{problem}, and nobody in the roster", likely(entry.name, people)
    for person in people:
        if person.canvas_id == sent.number:
            problem = (
                f"{person.student} is {person.full_name or 'without a name'}, the file is {sent.who or 'nameless'}'s"
            )
            return f"{sent.number} is there under another name: {problem}", [person.student]
    namesakes = [person for person in people if _run_together(sent.who) in _canvas_names(person)]
    if namesakes:
        problem = ", ".join(f"{value.student} has canvas_id {value.canvas_id}" for value in namesakes)
        problem = f"{sent.who} is there under another number: {problem}, the file has {sent.number}"
        return problem, [person.student for person in namesakes]
    return nobody, ()


def entry_of(student: str, people: Sequence[Person], worksheet: Mapping[str, Entry]) -> str | None:
    """Return the number of the one row of `worksheet` (number -> `moodle.Entry`) that is `student`'s, or None."""
    person = next((person for person in people if person.student == student), None)
    if person is None:
        numbers = [n for n, e in worksheet.items() if student in (_made_up(e.name.replace("_", " "), n, e), e.email)]
    else:
        by_name = [n for n, entry in worksheet.items() if same_name(entry.name) == same_name(person.full_name)]
        numbers = [n for n, entry in worksheet.items() if _is_entry(person, entry)] or by_name
    return numbers[0] if len(numbers) == 1 else None


def _owners(sent, people, worksheet):
    entry = (worksheet or {}).get(sent.number)
    if not people:
        return [sent.who if sent.platform == FOLDERS else _made_up(sent.who, sent.number, entry)]
    if sent.platform == FOLDERS:
        return [person.student for person in people if person.student == sent.who]
    if sent.platform == CANVAS:
        return [person.student for person in people if _is_canvas(sent, person)]
    by_entry = [person.student for person in people if entry is not None and _is_entry(person, entry)]
    return by_entry or [p.student for p in people if same_name(p.full_name) == same_name(sent.who)]


def _is_canvas(sent, person):
    """Both number and name must be right: the student may have written either of them."""
    if person.canvas_id and person.canvas_id != sent.number:
        return False
    if not sent.who:  # anonymous
        return bool(person.canvas_id)
    return _run_together(sent.who) in _canvas_names(person)


def _canvas_names(person):
    name = person.full_name
    before, _, after = name.partition(",") if "," in name else name.rpartition(" ")
    return {_run_together(text) for text in (name, person.last + person.first, after + before)} - {""}


def _is_entry(person, entry):
    pairs = ((person.email, entry.email), (person.sis_id, entry.id_number), (person.login, entry.login))
    return any(mine and mine.casefold() == theirs.casefold() for mine, theirs in pairs)


def _run_together(name):
    # as Canvas writes a name: lower case, nothing but word characters
    return re.sub(r"\W", "", name.casefold())


def _made_up(name, number, entry):
    """Return the student's name where there is no roster: readable, and shared by no two students."""
    if entry is not None and (entry.login or entry.email):
        return entry.login or entry.email
    spelled = re.sub(r"[^\w]+", "-", name.strip()).strip("-_")
    return "-".join(part for part in (spelled, number.replace("_", "-")) if part)
