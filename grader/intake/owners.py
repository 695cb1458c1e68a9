"""Whose a file of a download is: the roster's word, where the platform's name for it leaves a doubt."""

import re
from collections.abc import Mapping, Sequence

from grader.intake.filenames import CANVAS, FOLDERS, Sent
from grader.intake.moodle import Entry
from grader.intake.roster import Person, same_name


class Unsure(Exception):
    """It can't be told whose it is; the text says why and what would tell."""


def owner_of(found: list[Sent], people: Sequence[Person], worksheet: Mapping[str, Entry] | None) -> tuple[str, Sent]:
    """Return (student, `Sent`) for the readings `found` of one name, by roster and worksheet. Raises Unsure."""
    owners = [(student, sent) for sent in found for student in _owners(sent, people, worksheet)]
    if people and len(found) > 1:
        # who chooses a name of theirs with care can make a second reading: then the numbers must all speak for one
        if not any(person.canvas_id for person in people):
            raise Unsure("it can be read in several ways. Add a column canvas_id to roster.csv, which tells.")
        numbers = {sent.number for sent in found}
        owners += [(person.student, found[0]) for person in people if person.canvas_id in numbers]
    students = {student for student, _ in owners}
    if len(students) == 1:
        return owners[0]
    sent = found[0]
    if students:
        raise Unsure(f"it can be read as {' or '.join(sorted(students))}'s. Put it into the right folder by hand.")
    known = f"{sent.who} {sent.number}".strip()
    raise Unsure(f"nobody in the roster is {known!r}. Add a row with that name or number to roster.csv, import again.")


def entry_of(student: str, people: Sequence[Person], worksheet: Mapping[str, Entry]) -> str | None:
    """Return the number of the one row of `worksheet` (number -> `moodle.Entry`) that is `student`'s, or None."""
    person = next((person for person in people if person.student == student), None)
    if person is None:
        found = [n for n, e in worksheet.items() if student in (_made_up(e.name.replace("_", " "), n, e), e.email)]
    else:
        by_name = [n for n, entry in worksheet.items() if same_name(entry.name) == same_name(person.full_name)]
        found = [n for n, entry in worksheet.items() if _is_entry(person, entry)] or by_name
    return found[0] if len(found) == 1 else None


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
    """Both must be right, number and name: either alone may have been put there by whoever chose the rest of it."""
    if person.canvas_id and person.canvas_id != sent.number:
        return False
    if not sent.who:  # anonymous
        return bool(person.canvas_id)
    name = person.full_name
    one, _, other = name.partition(",") if "," in name else name.rpartition(" ")
    written = {_run_together(text) for text in (name, person.last + person.first, other + one)}
    return _run_together(sent.who) in written - {""}


def _is_entry(person, entry):
    pairs = ((person.email, entry.email), (person.sis_id, entry.id_number), (person.login, entry.login))
    return any(mine and mine.casefold() == theirs.casefold() for mine, theirs in pairs)


def _run_together(name):
    # as Canvas writes a name: lower case, nothing but word characters
    return re.sub(r"\W", "", name.casefold())


def _made_up(name, number, entry):
    """Without a roster: a name that says who it is and that no two students share."""
    if entry is not None and (entry.login or entry.email):
        return entry.login or entry.email
    who = re.sub(r"[^\w]+", "-", name.strip()).strip("-_")
    return "-".join(part for part in (who, number.replace("_", "-")) if part)
