"""The class file, `class.toml`: when labs are due, what lateness costs, which attempt counts. All may be left out.

    title = "From one CPU to a cluster, spring"
    timezone = "Europe/Berlin"          # of times written without an offset; UTC if left out
    labs = "/home/teacher/labs"         # a private folder of labs' sources
    attempts = "last"                   # which attempt counts: last, first or best
    max_attempts = 3                    # later ones are kept and not marked
    partial_credit = true               # false: an exercise that isn't all right gets nothing

    [late]
    share = 0.1                         # of the score, lost for each `per` begun
    per = "day"                         # or "hour"
    most = 0.5                          # of the score, lost at most
    grace_minutes = 10

    [lab.lab03_game_of_life]
    due = 2026-12-01T23:59:00
    points = 10                         # what the lab counts in exported files; by default its own points
    partial_credit = false              # these three may differ from lab to lab
    attempts = "best"
    max_attempts = 5
    canvas = "Lab 3 (81234)"            # the column of this assignment in Canvas

    [extensions.ada]
    lab03_game_of_life = 2026-12-04T23:59:00     # a new date, or "2 days", "36 hours"

The file is applied when marks are written, so a change of it needs no submission marked again.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from grader.classroom.folders import ClassError, CourseFolder

ATTEMPTS = ("last", "first", "best")
_INHERITED = ("attempts", "max_attempts", "partial_credit")
_KINDS = {"points": (int, float), "partial_credit": bool, "attempts": str, "max_attempts": int, "canvas": str}
_UNITS = {"day": timedelta(days=1), "hour": timedelta(hours=1)}
_SPAN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(minute|hour|day|week)s?\s*")


@dataclass(frozen=True)
class Late:
    """The late penalty: `share` of the score for each `per` ("day", "hour") begun after `grace`; at most `most`."""

    share: float = 0.0
    per: str = "day"
    most: float = 1.0
    grace: timedelta = timedelta(0)

    def cost(self, late: timedelta) -> float:
        """Return the share of a score, 0 to 1, that `late` (a timedelta) costs."""
        return min(self.most, self.share * max(0, math.ceil((late - self.grace) / _UNITS[self.per])))


@dataclass(frozen=True)
class LabRules:
    """The class file's rules for one lab; `due` is None or has a time zone, `points` is None for the lab's own."""

    due: datetime | None = None
    points: float | None = None
    partial_credit: bool = True
    attempts: str = "last"
    max_attempts: int | None = None
    canvas: str | None = None


@dataclass(frozen=True)
class ClassFile:
    """The class file as read. `extensions`: (student, lab) -> a time or a timedelta."""

    title: str = ""
    timezone: tzinfo = UTC
    labs: str | None = None
    late: Late = Late()
    standard: LabRules = LabRules()
    rules: Mapping[str, LabRules] = field(default_factory=dict)
    extensions: Mapping[tuple[str, str], datetime | timedelta] = field(default_factory=dict)

    def lab(self, name: str) -> LabRules:
        """Return the `LabRules` of the lab so called."""
        return self.rules.get(name, self.standard)

    def due(self, student: str, lab: str) -> datetime | None:
        """Return when `lab` is due for `student`, their extension counted; None when it never is."""
        due, more = self.lab(lab).due, self.extensions.get((student, lab))
        if isinstance(more, timedelta):
            return due + more if due is not None else None
        return due if more is None else more

    def late_by(self, student: str, lab: str, arrived: datetime | None) -> timedelta:
        """Return how late (timedelta, zero when in time) what arrived at `arrived` is."""
        due = self.due(student, lab)
        return max(timedelta(0), arrived - due) if due is not None and arrived is not None else timedelta(0)


def read_course_file(course: CourseFolder) -> ClassFile:
    """Return the `ClassFile` of `course`, the default one where it has none. Raises ClassError that names the entry."""
    path = course.root / "class.toml"
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ClassFile()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ClassError(f"{path} can't be read: {error}. Correct that line.") from None
    return _Reader(path).class_file(entries)


class _Reader:
    """Reads the parsed file; every complaint names the file and the entry."""

    def __init__(self, path):
        self.path = path

    def class_file(self, entries):
        self._only(entries, ("title", "timezone", "labs", *_INHERITED, "late", "lab", "extensions"), "")
        self.zone = self._zone(entries.get("timezone", "UTC"))
        standard = self._rules({name: value for name, value in entries.items() if name in _INHERITED}, LabRules(), "")
        labs = self._table(entries.get("lab", {}), "lab").items()
        extensions = {
            (student, lab): self._extension(more, f"extensions.{student}.{lab}")
            for student, deadlines in self._table(entries.get("extensions", {}), "extensions").items()
            for lab, more in self._table(deadlines, f"extensions.{student}").items()
        }
        rules = {name: self._rules(rules, standard, f"lab.{name}.") for name, rules in labs}
        title, private = self._a(str, entries, "title", ""), self._a(str, entries, "labs", None)
        if private is not None:
            private = str(self.path.parent / private)
        return ClassFile(title, self.zone, private, self._late(entries.get("late", {})), standard, rules, extensions)

    def _rules(self, entries, standard, where):
        self._only(entries, LabRules.__dataclass_fields__, where)
        values = {name: self._a(kind, entries, name, None, where) for name, kind in _KINDS.items() if name in entries}
        if "due" in entries:
            values["due"] = self._time(entries["due"], f"{where}due")
        rules = replace(standard, **values)
        if rules.attempts not in ATTEMPTS:
            self._refuse(f"{where}attempts", rules.attempts, "last, first or best")
        if rules.max_attempts is not None and rules.max_attempts < 1:
            self._refuse(f"{where}max_attempts", rules.max_attempts, "a whole number from 1 up")
        if rules.points is not None and not 0 < rules.points < 1e6:
            self._refuse(f"{where}points", rules.points, "a number above 0")
        return rules

    def _late(self, entries):
        self._only(entries, ("share", "per", "most", "grace_minutes"), "late.")
        numbers = {}
        for name, standard, most in (("share", 0.0, 1.0), ("most", 1.0, 1.0), ("grace_minutes", 0.0, 1e6)):
            numbers[name] = self._a((int, float), entries, name, standard, "late.")
            if not 0 <= numbers[name] <= most:
                self._refuse(f"late.{name}", numbers[name], f"a number from 0 to {most:g}")
        per = entries.get("per", "day")
        if per not in _UNITS:
            self._refuse("late.per", per, '"day" or "hour"')
        return Late(numbers["share"], per, numbers["most"], timedelta(minutes=numbers["grace_minutes"]))

    def _extension(self, value, where):
        if not isinstance(value, str):
            return self._time(value, where)
        span = _SPAN.fullmatch(value)
        if not span:
            self._refuse(where, value, 'a date such as 2026-12-04T23:59:00, or a span such as "2 days"')
        return timedelta(**{f"{span[2]}s": float(span[1])})

    def _time(self, value, where):
        if not isinstance(value, datetime):
            self._refuse(where, value, "a date and time such as 2026-12-01T23:59:00, without quotes")
        return value if value.tzinfo else value.replace(tzinfo=self.zone)

    def _zone(self, name):
        try:
            return UTC if name == "UTC" else ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
            self._refuse("timezone", name, 'a name such as "Europe/Berlin"')

    def _table(self, value, where):
        if not isinstance(value, dict):
            self._refuse(where, value, f"a table, [{where}]")
        return value

    def _a(self, kind, entries, name, standard, where=""):
        value = entries.get(name, standard)
        wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
        if wrong and value is not standard:
            wanted = {str: "text in quotes", bool: "true or false", int: "a whole number"}.get(kind, "a number")
            self._refuse(f"{where}{name}", value, wanted)
        return value

    def _only(self, entries, allowed, where):
        for name in self._table(entries, where.rstrip(".")):
            if name not in allowed:
                raise ClassError(f"{self.path}: there is no entry {where}{name}; known are {', '.join(allowed)}.")

    def _refuse(self, where, value, wanted):
        raise ClassError(f"{self.path}: {where} = {value!r}; it must be {wanted}.")
