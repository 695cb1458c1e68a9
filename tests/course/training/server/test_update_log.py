"""The log's entries and shard 0's table of pushes."""

from course.training.checkpoint.snapshot import Applied
from course.training.server.rules import Push
from course.training.server.update_log import Entry, PushId, PushTable


def push(worker, session, sequence):
    return Push(worker, 0, {}, session=session, sequence=sequence)


def test_an_entry_comes_back_from_json_as_it_was():
    used, dropped, joined = ((PushId(number, f"s{number}", number + 5),) for number in range(3))
    for entry in (Entry(7, used, dropped, joined, (3, True), {"why": "steps"}), Entry(0)):
        assert Entry.from_json(entry.as_json()) == entry


def test_a_session_s_account_begins_at_nothing_and_goes_on_from_a_snapshot_s():
    table = PushTable()
    table.open("a", 1)
    assert table.last("a") == 0 and table.applied == {"a": Applied(1, 0, 0, 0)}
    table.note(push(1, "a", 4), applied=1)
    table.note(push(1, "a", 5), dropped=1)
    table.note(push(1, "a", 6), applied=1)
    table.open("a", 1)
    assert table.last("a") == 6 and table.applied["a"] == Applied(1, 6, 2, 1)
    again = PushTable(table.applied)
    again.note(push(1, "a", 7), applied=1)
    assert again.last("a") == 7 and table.last("a") == 6, "a copy"


def test_counts_add_up_a_workers_sessions_and_believe_the_larger_of_what_was_said():
    table = PushTable()
    for session, worker in (("a", 0), ("b", 0), ("c", 1)):
        table.open(session, worker)
    table.note(push(0, "a", 3), applied=1)
    table.note(push(0, "b", 2), dropped=1)
    table.note_reported("a", 5, 2)
    table.note_reported("a", 4, 1)
    table.note_reported("b", 1, 1)
    table.note_reported("c", 0, 0)
    assert {name: dict(count) for name, count in table.counts().items()} == {
        "sent": {0: 5 + 2, 1: 0},
        "acknowledged": {0: 2 + 1, 1: 0},
        "applied": {0: 1, 1: 0},
        "dropped": {0: 1, 1: 0},
    }
