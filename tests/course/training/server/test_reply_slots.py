"""Reply slots: one a worker, for one connection of it, answered from the entry on that names the connection."""

import threading
from contextlib import ExitStack
from functools import partial

import pytest
import torch

from course.training import ParameterServer
from course.training.server import reply_slots as module
from course.training.server.reply_slots import ReplySlot, ReplySlots
from course.training.server.update_log import Entry, PushId


@pytest.fixture
def store():
    store = ParameterServer({"w": torch.tensor([5.0])}, partial(torch.optim.SGD, lr=1.0))
    store.push({"w": torch.tensor([1.0])}, 0)
    return store


def slot(worker, session="s", attempt=1):
    return ReplySlot(worker, session, attempt, {"w": torch.zeros(1)})


@pytest.fixture
def locked():
    """A function that makes the slots of a shard, whose lock this test then holds, as most calls need it."""
    with ExitStack() as stack:

        def make(workers):
            slots = ReplySlots(workers)
            stack.enter_context(slots.changed)
            return slots

        yield make


def never():
    raise AssertionError("it was decided: no heartbeat is due")


def test_the_newest_connection_has_the_slot_and_only_it_frees_it(locked):
    slots, old, new = locked(3), slot(1), slot(1, attempt=2)
    other = slots.occupy(slot(0))
    assert slots.occupy(old) is old and slots.occupy(new) is new
    assert old.replaced and not new.replaced and slots.all() == [other, new]
    assert slots.release(old) is False and slots.all() == [other, new]
    assert slots.release(new) is True and new.replaced and slots.all() == [other]
    assert slots.release(new) is False


def test_another_shard_ends_the_connection_that_it_lost_and_no_newer_one(locked):
    slots, mine = locked(2), slot(1, attempt=2)
    slots.occupy(mine)
    for lost in (PushId(1, "s", 1), PushId(1, "t", 2), PushId(0, "s", 2)):
        slots.disconnect(lost)
        assert not mine.replaced
    slots.disconnect(PushId(1, "s", 2))
    assert mine.replaced
    with pytest.raises(ConnectionError, match="another connection"):
        slots.wait(mine, never)


def test_an_entry_answers_those_it_names_once_they_have_joined(store, locked):
    slots, mine, other = locked(3), slot(0), slot(1)
    slots.occupy(mine), slots.occupy(other)
    slots.answer(Entry(1, used=(PushId(0, "s", 1),)), store, lambda session: 9)
    assert mine.answered is None, "it has not joined"
    slots.answer(Entry(1, joined=(PushId(0, "s", 7), PushId(2, "s", 1))), store)
    assert not mine.joined, "another connection has"
    slots.answer(Entry(1, joined=(mine.connection,)), store, lambda session: 9)
    assert (mine.answered, mine.taken, mine.into["w"].item(), other.answered) == (1, 9, 4.0, None)
    assert slots.wait(mine, never) == 1 and (mine.version, mine.answered) == (1, None)
    for entry in (Entry(1, used=(PushId(0, "t", 1),)), Entry(1, used=(PushId(1, "s", 1),))):
        slots.answer(entry, store)
        assert mine.answered is None and other.answered is None
    slots.answer(Entry(1, dropped=(PushId(0, "s", 2),)), store)
    assert (slots.wait(mine, never), mine.taken) == (1, 0)


def test_while_nothing_is_decided_a_heartbeat_goes_out(store, locked):
    slots, mine, beats = locked(1), slot(0), []
    slots.occupy(mine)

    def beat():
        beats.append(mine.answered)
        slots.answer(Entry(1, joined=(mine.connection,)), store)

    assert slots.wait(mine, beat) == 1 and beats == [None]


def test_while_the_shard_is_busy_with_its_lock_a_heartbeat_goes_out(store, monkeypatch):
    monkeypatch.setattr(module, "WIRE_HEARTBEAT_EVERY", 0.01)
    slots, mine, beats, held, free = ReplySlots(1), slot(0), [], threading.Event(), threading.Event()

    def work():
        with slots.changed:
            slots.occupy(mine)
            held.set()
            free.wait(60)
            slots.answer(Entry(1, joined=(mine.connection,)), store)

    working = threading.Thread(target=work)
    working.start()
    held.wait(60)

    def beat():
        beats.append(mine.answered)
        free.set()

    assert slots.wait(mine, beat) == 1 and beats[0] is None
    working.join(60)
