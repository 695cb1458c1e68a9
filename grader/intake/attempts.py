"""Every notebook that a student handed in, when it came, and which of them count.

Every notebook that is imported, or first seen when marks are made, is kept as `grading/attempts/LAB/STUDENT/SHA.ipynb`
and noted with its time of arrival: the grader's own, the learning platform's or the teacher's, never a file's date.
"""

import hashlib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from grader.classroom import atomic
from grader.classroom.class_file import LabRules
from grader.classroom.folders import CourseFolder

#: The sources of a time of arrival, the surest last.
_SURE = SEEN, IMPORTED, PLATFORM, TEACHER = "seen", "imported", "platform", "teacher"


@dataclass(frozen=True)
class Attempt:
    """One notebook handed in. `sha` names its bytes; it is empty for what was refused unread, and `reason` says why."""

    arrived: datetime
    by: str
    sha: str = ""
    reason: str = ""


def sha_of(data: bytes) -> str:
    """Return the name of a notebook's bytes."""
    return hashlib.sha256(data).hexdigest()


def attempts_of(course: CourseFolder, student: str, lab: str) -> list[Attempt]:
    """Return the `Attempt`s of `student` at `lab` (names), in the order in which they came."""
    entries = atomic.read_json(_ledger(course, student, lab)) or []
    return [Attempt(**{**entry, "arrived": datetime.fromisoformat(entry["arrived"])}) for entry in entries]


def note_attempt(
    course: CourseFolder,
    student: str,
    lab: str,
    data: bytes | None = None,
    arrived: datetime | None = None,
    by: str = SEEN,
    reason: str = "",
) -> Attempt:
    """Note that `data` was handed in (or that something was refused, for `reason`); return its `Attempt`.

    The same as last time is not noted again, but for a time of arrival from a surer source.
    """
    sha = sha_of(data) if data is not None else ""
    noted = attempts_of(course, student, lab)
    attempt = Attempt(arrived or datetime.now(UTC), by, sha, reason)
    if data is not None and read_attempt(course, student, lab, attempt) is None:
        atomic.write(_copy(course, student, lab, sha), data, 0o600)
    if noted and (noted[-1].sha, noted[-1].reason) == (sha, reason):
        surer = arrived is not None and _SURE.index(by) >= _SURE.index(noted[-1].by)
        if not surer or attempt == noted[-1]:
            return noted[-1]
        noted.pop()
    entries = [
        {**asdict(past_attempt), "arrived": past_attempt.arrived.isoformat()} for past_attempt in [*noted, attempt]
    ]
    atomic.write_json(_ledger(course, student, lab), entries)
    return attempt


def counted(attempts: list[Attempt], rules: LabRules) -> list[Attempt]:
    """Return the attempts that may count by `rules` (`LabRules`), in order: all of them for "best", else one."""
    allowed = attempts[: rules.max_attempts] if rules.max_attempts else attempts
    if not allowed or rules.attempts == "best":
        return allowed
    return allowed[:1] if rules.attempts == "first" else allowed[-1:]


def read_attempt(course: CourseFolder, student: str, lab: str, attempt: Attempt) -> bytes | None:
    """Return the bytes of an attempt, or None where the copy is gone or isn't what was handed in."""
    try:
        data = _copy(course, student, lab, attempt.sha).read_bytes()
    except FileNotFoundError:
        return None
    return data if sha_of(data) == attempt.sha else None


def _ledger(course, student, lab):
    return course.records / "arrivals" / lab / f"{student}.json"


def _copy(course, student, lab, sha):
    return course.records / "attempts" / lab / student / f"{sha}.ipynb"
