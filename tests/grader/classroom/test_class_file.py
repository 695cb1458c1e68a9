"""The class file's entries, one by one: what each may be, to the last legal value, and what it comes to."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from grader.classroom import class_file
from grader.classroom.class_file import ClassFile, LabRules, Late, read_course_file
from grader.classroom.folders import ClassError

DUE = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def read(course, text):
    (course.root / "class.toml").write_text(text)
    return read_course_file(course)


def test_a_class_without_a_file_has_no_dates_no_penalties_and_counts_the_last_attempt(course):
    found = read_course_file(course)
    assert found == ClassFile() == read(course, "")
    assert found.lab("any") == LabRules(None, None, True, "last", None, None)
    assert found.due("ada", "any") is None and found.late_by("ada", "any", DUE) == timedelta(0)
    assert (found.title, found.timezone, found.labs, found.late) == ("", UTC, None, Late(0.0, "day", 1.0, timedelta(0)))


def test_what_is_said_of_all_labs_holds_for_each_that_says_nothing_else(course):
    found = read(course, "attempts = 'first'\nmax_attempts = 1\npartial_credit = false\n[lab.a]\nattempts = 'best'\n")
    assert found.lab("a") == LabRules(attempts="best", max_attempts=1, partial_credit=False)
    assert found.lab("b") == LabRules(attempts="first", max_attempts=1, partial_credit=False)


def test_a_private_folder_is_found_from_the_file_and_the_title_is_kept(course):
    found = read(course, "title = 'Spring'\nlabs = 'mine'\n")
    assert (found.title, found.labs) == ("Spring", str(course.root / "mine"))


@pytest.mark.parametrize(
    ("written", "due"),
    [
        ("2026-12-01T12:00:00Z", DUE),
        ("2026-12-01T12:00:00+02:00", datetime(2026, 12, 1, 12, tzinfo=timezone(2 * HOUR))),
        ("2026-12-01T12:00:00", datetime(2026, 12, 1, 12, tzinfo=ZoneInfo("Asia/Tokyo"))),
    ],
)
def test_a_time_without_an_offset_is_of_the_class_s_zone(course, written, due):
    assert read(course, f"timezone = 'Asia/Tokyo'\n[lab.a]\ndue = {written}\n").due("ada", "a") == due


@pytest.mark.parametrize(
    ("more", "due"),
    [
        ("'2 days'", DUE + 48 * HOUR),
        ("'1 week'", DUE + 7 * 24 * HOUR),
        ("' 1.5  hours '", DUE + 1.5 * HOUR),
        ("'30 minutes'", DUE + HOUR / 2),
        ("2026-12-09T00:00:00Z", datetime(2026, 12, 9, tzinfo=UTC)),
    ],
)
def test_an_extension_is_a_span_or_a_date_and_its_student_s_alone(course, more, due):
    found = read(course, f"[lab.a]\ndue = 2026-12-01T12:00:00Z\n[extensions.ada]\na = {more}\nb = {more}\n")
    assert found.due("ada", "a") == due and found.due("bob", "a") == DUE
    assert found.due("ada", "b") == (None if more.startswith("'") else due), "a span from no date is none"


def test_late_is_what_arrives_after_the_due_time_and_nothing_that_never_did(course):
    found = read(course, "[lab.a]\ndue = 2026-12-01T12:00:00Z\n")
    late = [found.late_by("ada", "a", at) for at in (None, DUE - HOUR, DUE, DUE + HOUR)]
    assert late == [timedelta(0), timedelta(0), timedelta(0), HOUR]


def test_the_example_of_the_documentation_is_read(course):
    example = [line[4:] for line in class_file.__doc__.splitlines() if line.startswith("    ")]
    found = read(course, "\n".join(example))
    due = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
    rules = found.lab("lab03_game_of_life")
    assert (rules.due, rules.points, rules.attempts, rules.max_attempts) == (due, 10, "best", 5)
    assert found.lab("another") == LabRules(max_attempts=3)
    assert found.due("ada", "lab03_game_of_life") == due + timedelta(days=3)
    assert found.late == Late(0.1, "day", 0.5, timedelta(minutes=10))


def test_each_hour_or_day_begun_after_the_grace_costs_its_share():
    late = Late(share=0.25, per="hour", most=0.75, grace=HOUR)
    spans = (0.5, 1, 1.001, 2, 2.001, 4, 4.001, 400)
    assert [late.cost(hours * HOUR) for hours in spans] == [0, 0, 0.25, 0.25, 0.5, 0.75, 0.75, 0.75]
    assert Late(share=0.25).cost(24 * HOUR) == 0.25 and Late(share=0.25).cost(24.1 * HOUR) == 0.5
    assert Late(share=0.5).cost(9 * 24 * HOUR) == 1.0, "no more than everything"
    assert Late().cost(99 * HOUR) == 0


def test_the_penalty_s_entries_are_read_to_their_last_legal_values(course):
    found = read(course, "[late]\nshare = 1\nper = 'hour'\nmost = 0\ngrace_minutes = 1.5\n").late
    assert found == Late(1, "hour", 0, timedelta(seconds=90))
    assert read(course, "[late]\nshare = 0.5\n").late == Late(0.5, "day", 1.0, timedelta(0))
    assert read(course, "[late]\ngrace_minutes = 1000000\n").late.grace == timedelta(minutes=1e6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[late]\nshare = -0.1", r"late.share = -0.1; it must be a number from 0 to 1\."),
        ("[late]\nshare = 1.1", r"late.share = 1.1; it must be a number from 0 to 1\."),
        ("[late]\nmost = 1.1", r"late.most = 1.1; it must be a number from 0 to 1\."),
        ("[late]\ngrace_minutes = -1", r"late.grace_minutes = -1; it must be a number from 0 to 1e\+06"),
        ("[late]\ngrace_minutes = 1000001", "late.grace_minutes = 1000001"),
        ("[late]\nshare = true", "late.share = True; it must be a number"),
        ("[late]\nshare = '1'", "late.share = '1'; it must be a number"),
        ("[late]\ngrace = 1", "there is no entry late.grace; known are share, per, most, grace_minutes"),
        ("[late]\nper = 3", "late.per = 3"),
        ("late = 3", "late = 3; it must be a table"),
        ("lab = 3", r"lab = 3; it must be a table, \[lab\]"),
        ("max_attempts = 0", "max_attempts = 0; it must be a whole number from 1 up"),
        ("max_attempts = 1.5", "max_attempts = 1.5; it must be a whole number"),
        ("[lab.a]\nmax_attempts = -1", "lab.a.max_attempts = -1"),
        ("[lab.a]\npoints = -1", "lab.a.points = -1; it must be a number above 0"),
        ("[lab.a]\npoints = 1e6", "lab.a.points = 1000000.0"),
        ("[lab.a]\npoints = inf", "lab.a.points = inf"),
        ("[lab.a]\npoints = nan", "lab.a.points = nan"),
        ("[lab.a]\npoints = '3'", "lab.a.points = '3'; it must be a number"),
        ("[lab.a]\ncanvas = 3", "lab.a.canvas = 3; it must be text in quotes"),
        ("[lab.a]\npartial_credit = 1", "lab.a.partial_credit = 1; it must be true or false"),
        ("[lab.a]\nattempts = 'none'", "lab.a.attempts = 'none'; it must be last, first or best"),
        ("[lab.a]\ntitle = 'x'", "there is no entry lab.a.title; known are due"),
        ("title = 3", "title = 3; it must be text in quotes"),
        ("labs = 3", "labs = 3; it must be text in quotes"),
        ("timezone = 3", "timezone = 3; it must be a name such as"),
        ("timezone = '../etc'", "timezone = '../etc'; it must be a name such as"),
        ("[extensions]\nada = 3", r"extensions.ada = 3; it must be a table, \[extensions.ada\]"),
        ("[extensions.ada]\na = '2 moons'", "extensions.ada.a = '2 moons'; it must be a date such as"),
        ("[extensions.ada]\na = 3", "extensions.ada.a = 3; it must be a date and time"),
        ("due = 2026-12-01T12:00:00", "there is no entry due; known are title"),
        ("[lab.small]\ndue = '2026-12-01'", "lab.small.due = '2026-12-01'; it must be a date and time"),
        ("[lab.small]\ndue = 2026-12-01", "it must be a date and time"),
        ("[lab.small]\npoints = 0", "lab.small.points = 0; it must be a number above 0"),
        ("[lab]\nsmall = 3", "lab.small = 3; it must be a table"),
        ("max_attempts = true", "max_attempts = True; it must be a whole number"),
        ("title = ", "can't be read: .*Correct that line"),
    ],
)
def test_each_illegal_value_is_named_with_what_is_legal(course, text, says):
    with pytest.raises(ClassError, match=says):
        read(course, text)


def test_a_file_that_is_no_text_is_told(course):
    (course.root / "class.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(ClassError, match="can't be read: .*Correct that line"):
        read_course_file(course)


@pytest.mark.parametrize("points", ["0.5", "1", "999999"])
def test_points_may_be_any_number_above_nothing(course, points):
    assert read(course, f"[lab.a]\npoints = {points}\nmax_attempts = 1\n").lab("a").points == float(points)
