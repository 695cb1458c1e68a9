"""Checkpoints on a disk that is full, and writers that are killed: the last good one is always there."""

import errno
import itertools
import os
import random
import signal
import sys
import time
import warnings
from contextlib import ExitStack
from functools import partial
from unittest.mock import Mock

import pytest
import torch

from course.training import Checkpoints, CheckpointWarning, Hook, SaveCheckpoint, Snapshot, linear_regression
from course.training import train_in_turns as train
from tests.course.training.forked import forked
from tests.course.training.small_disk import small_disk
from tests.helpers.namespaces import NotHereError
from tests.helpers.shells import eventually

SGD = partial(torch.optim.SGD, lr=0.02)


def snapshot(step, numbers=1000):
    return Snapshot(step, {"w": torch.full((numbers,), float(step))}, kind="SGD")


def is_whole(saved):
    return bool((saved.parameters["w"] == float(saved.version)).all())


def latest(folder):
    """The newest snapshot; data whose manifest hasn't got its name yet is named in a warning."""
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        return Checkpoints(folder).latest()


def files(folder):
    return sorted(os.listdir(folder))


# --- a disk that refuses ---------------------------------------------------------------------------------------------

STEPS_OF_A_SAVE = [("fsync", n) for n in (1, 2, 3)] + [("replace", 1), ("replace", 2)]


@pytest.fixture
def refusing(monkeypatch):
    """A function that makes the n-th call of `os.fsync` or `os.replace` from now on fail as a full disk does."""

    def refuse(name, number):
        real, calls = getattr(os, name), []

        def call(*arguments):
            calls.append(arguments)
            if len(calls) == number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments)

        monkeypatch.setattr(os, name, call)

    return refuse


@pytest.mark.parametrize(("name", "number"), STEPS_OF_A_SAVE)
def test_a_save_that_fails_anywhere_leaves_the_old_ones_and_nothing_of_its_own(name, number, tmp_path, refusing):
    if os.name == "nt" and (name, number) == ("fsync", 3):
        pytest.skip("Windows can't flush a folder: there is no such call to fail")
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(snapshot(10))
    before = files(tmp_path)
    refusing(name, number)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(snapshot(20))
    last = (name, number) == ("fsync", 3)  # all is written then, and it is only not certain that it lasts
    assert Checkpoints(tmp_path).latest().version == (20 if last else 10)
    assert set(before) <= set(files(tmp_path)) and (last or files(tmp_path) == before)
    checkpoints.save(snapshot(30))
    assert Checkpoints(tmp_path, keep=1).latest().version == 30


def test_a_write_that_fails_is_the_disk_s_own_error_whatever_pytorch_makes_of_it(tmp_path):
    from course.training.checkpoint.data_file import write_data

    class Full:
        def __init__(self, room):
            self.room = room

        def write(self, part):
            self.room -= len(part)
            if self.room < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for room in (0, 1, 100, 1000, 2000, 4000):
        with pytest.raises(OSError, match="No space left"):
            write_data(snapshot(1), Full(room))


class Disk(Hook):
    """Refuses between two steps."""

    def __init__(self, monkeypatch, first, last):
        self.first, self.last, self._patch, self._real = first, last, monkeypatch, os.replace

    def before_run(self, session):
        full = self.first <= session.step < self.last
        refuse = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        self._patch.setattr(os, "replace", refuse if full else self._real)


def test_a_full_disk_is_a_loud_warning_and_training_goes_on_and_saves_again(tmp_path, monkeypatch):
    with pytest.warns(CheckpointWarning, match="IS NOT SAVED.*No space left.*training is not stopped") as caught:
        result = train(
            linear_regression(),
            optimizer=SGD,
            total_steps=70,
            hooks=[Disk(monkeypatch, 25, 45), SaveCheckpoint(steps=10)],
            checkpoint_dir=tmp_path,
        )
    assert [str(warning.message).split()[1] for warning in caught] == ["30", "40"]
    saved = [("checkpoint saved", step) for step in (0, 10, 20, 50, 60, 70)]
    assert result.version == 70 and [(event.what, event.step) for event in result.events] == saved


def test_a_version_that_the_disk_refuses_at_every_try_is_named_once(tmp_path, monkeypatch):
    hooks = [Disk(monkeypatch, 15, 99), SaveCheckpoint(steps=10)]
    with pytest.warns(CheckpointWarning, match="IS NOT SAVED") as caught:
        train(linear_regression(), optimizer=SGD, total_steps=30, hooks=hooks, checkpoint_dir=tmp_path)
    assert [str(warning.message).split()[1] for warning in caught] == ["20", "30"]


@pytest.fixture
def disk():
    """A disk of 1 MB."""
    with ExitStack() as mounted:
        try:
            folder = mounted.enter_context(small_disk())
        except NotHereError as error:
            print(f"\n  SKIPPED ALOUD: {error}; full disks were tried by failing calls only")
            pytest.skip(str(error))
        yield folder


def test_a_disk_that_is_really_full_keeps_the_last_good_one_and_its_room(disk):
    checkpoints, saved = Checkpoints(disk, keep=5), []
    for step in range(10, 80, 10):
        try:
            checkpoints.save(snapshot(step, numbers=50_000))  # 200 kB each
            saved.append(step)
        except OSError as error:
            assert error.errno == errno.ENOSPC
    assert 2 <= len(saved) <= 5 and saved == [checkpoint.version for checkpoint in checkpoints.all()]
    assert len(files(disk)) == 2 * len(saved) and not any(name.endswith(".tmp") for name in files(disk))
    assert latest(disk).version == saved[-1] and is_whole(latest(disk))
    for name in files(disk)[:2]:
        (disk / name).unlink()
    checkpoints.save(snapshot(90, numbers=50_000))
    assert latest(disk).version == 90


# --- writers that are killed -----------------------------------------------------------------------------------------


def killed_at(folder, name, number):
    """Save step 20, and die by SIGKILL just before the n-th call of `os.name`."""
    real, calls = getattr(os, name), []

    def call(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **keywords)

    setattr(os, name, call)
    Checkpoints(folder, keep=1).save(snapshot(20))


def save_for_ever(folder):
    """Go on from what is there and save step after step, until killed."""
    checkpoints = Checkpoints(folder, keep=2)
    newest = checkpoints.latest()
    for step in itertools.count(newest.version + 1 if newest else 1):
        checkpoints.save(snapshot(step))


linux = pytest.mark.skipif(sys.platform != "linux", reason="kills by SIGKILL, in processes that a fork server starts")


@linux
@pytest.mark.parametrize(("name", "number"), [*STEPS_OF_A_SAVE, ("unlink", 1), ("unlink", 2), ("unlink", 3)])
def test_a_writer_killed_at_any_point_of_a_save_leaves_a_good_checkpoint(name, number, tmp_path):
    Checkpoints(tmp_path).save(snapshot(10))
    process = forked(killed_at, tmp_path, name, number)
    process.join(120)
    assert process.exitcode in (-signal.SIGKILL, 0)
    saved = latest(tmp_path)
    assert saved.version in (10, 20) and is_whole(saved)
    assert saved.version == 20 or name != "unlink", "the new one is there before the old one goes"
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(snapshot(30))
    assert len(files(tmp_path)) == 2, "what the killed writer left is gone"


@linux
def test_writers_killed_at_random_moments_leave_readable_folders(tmp_path):
    newest, moments = 0, random.Random(5)
    for _ in range(6):
        process = forked(save_for_ever, tmp_path)
        eventually(lambda newest=newest: any(saved.version > newest for saved in Checkpoints(tmp_path).all()), 120)
        time.sleep(moments.uniform(0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
        saved = latest(tmp_path)
        assert is_whole(saved) and saved.version > newest
        newest = saved.version
        assert len(files(tmp_path)) <= 2 * 3 + 2
