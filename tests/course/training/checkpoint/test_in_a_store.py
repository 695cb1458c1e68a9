"""Checkpoints at a store's address, where nothing is renamed: whole or not, one writer, and what its loss costs."""

import errno
import json
import socket
import time
import warnings
from dataclasses import asdict
from functools import partial

import pytest
import torch

from course.training import Checkpoints, CheckpointWarning, SaveCheckpoint, Snapshot, TrainingError, linear_regression
from course.training import train_in_turns as train
from course.training.checkpoint.folder_lock import LockedCheckpoints, Owner, lock_of
from course.training.hooks.base import Hook
from modelserver import bucket
from tests.helpers.stores.strict_store import fall_silent, full, objects, strict_store

ADDRESS = "strict://bucket/runs/one"
SGD = partial(torch.optim.SGD, lr=0.02)


@pytest.fixture
def store():
    with strict_store() as store:
        yield store


def snapshot(step, incarnation=0):
    return Snapshot(step, {"w": torch.full((1000,), float(step))}, kind="SGD", incarnation=incarnation)


def test_what_was_saved_is_read_and_the_newest_stay(store):
    checkpoints = Checkpoints(ADDRESS, keep=2)
    assert checkpoints.latest() is None and checkpoints.all() == []
    for step in (10, 20, 30):
        path = checkpoints.save(snapshot(step))
    assert str(path) == f"{ADDRESS}/checkpoint-0000-000000000030.json" == str(checkpoints.all()[-1].path)
    assert [saved.version for saved in checkpoints.all()] == [20, 30] and len(objects()) == 4
    assert (Checkpoints(f"{ADDRESS}/").latest().parameters["w"] == 30).all()
    assert checkpoints.load(str(path)).version == 30 and checkpoints.next_incarnation() == 1


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("error", [PermissionError(13, "no"), RuntimeError("a package's own"), OSError(5, "broken")])
def test_a_save_that_is_refused_anywhere_leaves_the_old_ones_and_nothing_of_its_own(store, number, error):
    checkpoints, writes = Checkpoints(ADDRESS, keep=1), []
    checkpoints.save(snapshot(10))
    before = objects()

    def refuse(call, path):
        if call == "write":
            writes.append(path)
            if len(writes) == number:
                raise error

    store.refuse = refuse
    with pytest.raises(OSError, match=r"strict://bucket/runs/one/checkpoint-0000-000000000020"):
        checkpoints.save(snapshot(20))
    assert objects() == before and Checkpoints(ADDRESS).latest().version == 10
    assert checkpoints.save(snapshot(30)).stem == "checkpoint-0000-000000000030" and len(objects()) == 2


def test_the_manifest_comes_last_and_goes_first(store):
    calls, checkpoints = [], Checkpoints(ADDRESS, keep=1)
    store.refuse = lambda call, path: calls.append((call, path.rpartition(".")[2]))
    checkpoints.save(snapshot(10))
    checkpoints.save(snapshot(20))
    writes = [ending for call, ending in calls if call == "write"]
    assert writes == ["pt", "json"] * 2
    assert [ending for call, ending in calls if call == "remove"][0] == "json"


def test_a_damaged_object_is_named_and_the_one_before_it_is_used(store):
    checkpoints = Checkpoints(ADDRESS)
    checkpoints.save(snapshot(10))
    checkpoints.save(snapshot(20))
    data = next(path for path in objects() if "20-" in path)
    store.store[data].seek(500)
    store.store[data].write(b"x")
    with pytest.warns(CheckpointWarning, match="its checksum is wrong.*before it is tried"):
        assert checkpoints.latest().version == 10


class Lost(Hook):
    """Has the store refuse between two steps."""

    def __init__(self, store, first, last):
        self.store, self.first, self.last = store, first, last

    def before_run(self, session):
        self.store.refuse = full() if self.first <= session.step < self.last else None


def test_a_lost_store_costs_what_a_full_disk_costs_a_loud_warning_and_training_saves_again(store):
    with pytest.warns(CheckpointWarning, match="IS NOT SAVED.*no.*training is not stopped") as caught:
        hooks = [Lost(store, 25, 45), SaveCheckpoint(steps=10)]
        result = train(linear_regression(), optimizer=SGD, total_steps=70, hooks=hooks, checkpoint_dir=ADDRESS)
    assert [str(warning.message).split()[1] for warning in caught] == ["30", "40"]
    saved = [("checkpoint saved", step) for step in (0, 10, 20, 50, 60, 70)]
    assert result.version == 70 and [(event.what, event.step) for event in result.events] == saved
    again = train(linear_regression(), optimizer=SGD, total_steps=80, checkpoint_dir=ADDRESS)
    assert again.restored_from == 70


def test_a_silent_store_costs_one_deadline_a_save_and_is_told_as_that(store, monkeypatch):
    with lock_of(ADDRESS) as lock:
        checkpoints = LockedCheckpoints(lock, keep=5)
        checkpoints.save(snapshot(10))
        with monkeypatch.context() as quick:
            quick.setattr(bucket, "STORE_ANSWERS", 0.2)
            answering, began = fall_silent(), time.monotonic()
            with pytest.raises(TimeoutError, match="has not answered in 0 s.*strict://bucket/runs/one"):
                checkpoints.save(snapshot(20))
            with pytest.raises(TimeoutError):
                checkpoints.latest()
            assert time.monotonic() - began < 10
            answering.set()
            store.silent = None
        checkpoints.save(snapshot(30))
    assert not [path for path in objects() if "lock" in path]


def test_a_lock_whose_store_was_silent_at_its_end_does_not_keep_this_process_out(store, monkeypatch):
    lock = lock_of(ADDRESS)
    fall_silent()
    with monkeypatch.context() as quick:
        quick.setattr(bucket, "STORE_ANSWERS", 0.2)
        lock.close()
    store.silent.set()
    store.silent = None
    assert len(objects()) == 1, "its object is there still"
    with lock_of(ADDRESS) as second:
        assert second.holds() and not lock.holds()
    assert objects() == []


# --- one writer ------------------------------------------------------------------------------------------------------


def test_a_second_training_is_refused_by_name_and_may_come_when_the_first_is_done(store):
    with lock_of(ADDRESS) as first:
        assert first.holds() and first.other_owner() is None
        with pytest.raises(ValueError, match=r"process \d+ on .* is training into this.*remove strict://.*-000001"):
            lock_of(ADDRESS)
        assert first.holds()
    first.close()
    with lock_of(ADDRESS) as second:
        assert second.holds() and not first.holds() and first.other_owner() is not None
    assert objects() == []


def test_a_chief_of_a_later_term_takes_the_address_and_the_old_one_sees_it(store):
    old = lock_of(ADDRESS, "tls://localhost:1", term=1)
    checkpoints = LockedCheckpoints(old, keep=5)
    with pytest.raises(ValueError, match="is training into"):
        lock_of(ADDRESS, "tls://localhost:1", term=1)
    with lock_of(ADDRESS, "tls://localhost:1", term=2) as new:
        assert new.holds() and not old.holds()
        with pytest.raises(TrainingError, match="has it now"):
            checkpoints.save(snapshot(10))
        old.close()
        assert new.holds() and len(objects()) == 1


def test_of_two_that_take_over_the_lock_of_an_ended_process_one_gets_it(store):
    dead = Owner(socket.gethostname(), 2**22 + 1, 0.0, "gone", 0)
    bucket.BucketPath(f"{ADDRESS}/training.lock-000007").write_bytes(json.dumps(asdict(dead)).encode())
    writes = []

    def quicker(call, path):  # another takes it over between this one's look and its own attempt
        if call == "write":
            store.refuse = None
            writes.append(lock_of(ADDRESS))

    store.refuse = quicker
    with pytest.raises(ValueError, match="is training into"):
        lock_of(ADDRESS)
    assert writes[0].holds() and objects() == ["/bucket/runs/one/training.lock-000008"]


def test_an_address_that_cannot_be_is_refused_before_anything_starts(store):
    store.refuse = full(error=FileNotFoundError(errno.ENOENT, "The specified bucket does not exist"))
    with pytest.raises(ValueError, match="nothing can be written there.*bucket does not exist.*a bucket that"):
        lock_of(ADDRESS)
    with pytest.raises(ValueError, match="nowhere://x.*Give s3://"):
        Checkpoints("nowhere://x/y")
    with pytest.raises(ValueError, match="no bucket in this address"):
        Checkpoints("strict://")


def test_where_a_stores_package_is_missing_its_extra_is_named(monkeypatch):
    from fsspec.registry import known_implementations

    monkeypatch.setitem(known_implementations, "gs", {"class": "missing_package.Files", "err": "Install it"})
    with warnings.catch_warnings(), pytest.raises(ImportError, match=r"pip install 'course\[gs\]'"):
        Checkpoints("gs://bucket/folder")
