"""Whose a file of a download is: the roster's word, where the platform's name for it leaves a doubt."""

import re
from collections.abc import Mapping, Sequence

from grader.intake.filenames import CANVAS, FOLDERS, MOODLE, Sent
from grader.intake.moodle import Entry
from grader.intake.roster import Person, same_name


class Unsure(Exception):
    """It can't be told whose it is; the text says why and what would tell."""


def owner_of(
    found: list[Sent], people: Sequence[Person] = (), worksheet: Mapping[str, Entry] | None = None
) -> tuple[str, Sent]:
    """Return (student, `Sent`) for the readings `found` of one name. Raises Unsure.

    `people`: the roster, a list of `Person`; `worksheet`: number -> `moodle.Entry`, or None.
    """
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
        found = [n for n, entry in worksheet.items() if student in (_made_up_of(entry), entry.login, entry.email)]
    else:
        found = [n for n, entry in worksheet.items() if _is_entry(person, entry)]
        by_name = [n for n, entry in worksheet.items() if same_name(entry.name) == same_name(person.full_name)]
        found = found or by_name
    return found[0] if len(found) == 1 else None


def _made_up_of(entry):
    return _made_up(Sent(MOODLE, entry.name.replace("_", " "), entry.number, ""), entry)


def _owners(sent, people, worksheet):
    if sent.platform == FOLDERS:
        return _in_folders(sent, people)
    entry = (worksheet or {}).get(sent.number)
    if not people:
        return [_made_up(sent, entry)]
    if sent.platform == CANVAS:
        return [person.student for person in people if _is_canvas(sent, person)]
    if entry is not None:
        by = [p.student for p in people if _is_entry(p, entry)]
        if by:
            return by
    return [p.student for p in people if same_name(p.full_name) == same_name(sent.who)]


def _in_folders(sent, people):
    if not people:
        return [sent.who]
    return [person.student for person in people if person.student == sent.who]


def _is_canvas(sent, person):
    """Both must be right, number and name: either alone may have been put there by whoever chose the rest of it."""
    if person.canvas_id and person.canvas_id != sent.number:
        return False
    written = {_run_together(person.full_name), _run_together(f"{person.last}{person.first}")}
    if "," in person.full_name:
        last, _, first = person.full_name.partition(",")
        written.add(_run_together(first + last))
    else:
        first, _, last = person.full_name.rpartition(" ")
        written.add(_run_together(last + first))
    anonymous = not sent.who
    return (bool(person.canvas_id) and anonymous) or _run_together(sent.who) in written - {""}


def _is_entry(person, entry):
    pairs = ((person.email, entry.email), (person.sis_id, entry.id_number), (person.login, entry.login))
    return any(mine and mine.casefold() == theirs.casefold() for mine, theirs in pairs)


def _run_together(name):
    # as Canvas writes a name: lower case, nothing but word characters
    return re.sub(r"\W", "", name.casefold())


def _made_up(sent, entry):
    """Without a roster: a name that says who it is and that no two students share."""
    if entry is not None and (entry.login or entry.email):
        return entry.login or entry.email
    who = re.sub(r"[^\w]+", "-", sent.who.strip()).strip("-_")
    return "-".join(part for part in (who, sent.number.replace("_", "-")) if part)
