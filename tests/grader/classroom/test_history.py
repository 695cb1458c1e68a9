"""The history of marks: only what changed is added, and the report tells each change once."""

from dataclasses import replace
from datetime import UTC, datetime

from grader.classroom import history
from grader.classroom.history import Change, changes_of, differences, latest, record, report
from grader.classroom.marks_csv import Row

ADA = Row("ada", "small", "double", "graded", 1.0, 3, "so")
BOB = Row("bob", "small", "double", "graded", 2.0, 3, "so")


def on(day):
    return datetime(2026, 12, day, tzinfo=UTC)


def test_a_first_mark_has_nothing_before_it_and_the_same_mark_again_is_no_change(course):
    assert latest(course, "small") == {} and changes_of(course, "small") == []
    assert record(course, "small", [ADA, BOB], on(1)) == [Change(None, row, on(1).isoformat()) for row in (ADA, BOB)]
    assert record(course, "small", [ADA, BOB], on(2)) == []
    assert len(history._path(course, "small").read_bytes().splitlines()) == 2
    better = replace(ADA, score=3.0)
    assert record(course, "small", [better, BOB], on(3)) == [Change(ADA, better, on(3).isoformat())]
    assert latest(course, "small") == {ADA.key: better, BOB.key: BOB}
    assert [change.before for change in changes_of(course, "small")] == [None, None, ADA]
    assert changes_of(course, "other") == []


def test_differences_are_those_of_the_last_change_or_since_a_day(course):
    assert differences(course, "small") == []
    record(course, "small", [ADA, BOB], on(1))
    assert differences(course, "small") == [], "a first mark differs from nothing"
    second, third = replace(ADA, score=2.0), replace(ADA, score=3.0)
    for day, row in ((2, second), (3, replace(BOB, reason="other words")), (4, third)):
        record(course, "small", [row], on(day))
    assert [(one.before, one.after) for one in differences(course, "small")] == [(second, third)]
    since = differences(course, "small", on(2))
    assert [(one.before, one.after) for one in since] == [(ADA, third), (BOB, replace(BOB, reason="other words"))]
    assert [one.after.student for one in differences(course, "small", on(3))] == ["bob", "ada"]


def test_what_changed_and_changed_back_is_no_difference(course):
    for day, row in enumerate([ADA, replace(ADA, score=2.0), ADA], start=1):
        record(course, "small", [row], on(day))
    assert differences(course, "small", on(1)) == []


def test_the_report_counts_scores_those_that_fell_and_other_words():
    changes = [
        Change(ADA, replace(ADA, score=0.5, reason="why")),
        Change(BOB, replace(BOB, score=3.0, state="late", reason="how")),
        Change(ADA, replace(ADA, exercise="total", reason="told otherwise")),
    ]
    assert report(changes) == [
        "2 scores changed, 1 of them down; 1 more have other words or another state.",
        "ada, double: 1 -> 0.5 of 3 (why)",
        "bob, double: 2 -> 3 of 3 (graded -> late; how)",
        "ada, total: told otherwise",
    ]
    assert report([]) == ["No mark changed."]
