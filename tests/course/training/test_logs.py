"""What an operator reads: a healthy training logs its joins, checkpoints and end at INFO; a fault's lines name it."""

import logging
from contextlib import closing, suppress

import pytest

from course.training import SaveCheckpoint, train_in_turns
from course.training.checkpoint.folder_lock import NAME, FolderLock
from course.training.driver.shard_client import ShardClient
from course.training.records import ShardLost
from tests.helpers.shards_here import FOREVER, PROBLEM, SGD, connected, ended, shards, until, working
from tests.helpers.shells import eventually


@pytest.fixture
def lines(caplog):
    """A function that returns the lines of course.training so far."""
    with caplog.at_level(logging.INFO, "course.training"):
        yield lambda: [record.getMessage() for record in caplog.records if record.name.startswith("course.training")]
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.INFO] == []


def check_in_order(lines, *beginnings):
    """Some line begins with each of these, and the lines come in this order."""
    rest = iter(lines)
    for beginning in beginnings:
        assert any(line.startswith(beginning) for line in rest), (beginning, lines)


def test_a_healthy_training_says_who_joins_and_how_it_ends_and_warns_of_nothing(lines):
    with shards(2, mode="sync", workers=2, limit=20) as (addresses, _), connected(addresses) as client:
        with working(addresses, 2):
            ended(client)
    joins = "shard 0 of 2: incarnation 0 begins at version 0", "1 other shards follow", "worker ", "training begins at"
    check_in_order(lines(), *joins, "training ends at version 20: steps", "the shard at 127.0.0.1:")
    assert any(line.endswith("stopped, after 20 pushes") for line in lines())


def test_checkpoints_that_are_written_and_read_are_named(lines, tmp_path):
    for steps in (20, 40):
        hooks = [SaveCheckpoint(steps=20)]
        train_in_turns(PROBLEM, optimizer=SGD, total_steps=steps, hooks=hooks, checkpoint_dir=tmp_path)
    saved = "step 0: checkpoint saved (the start)", "step 20: checkpoint saved (every 20 steps)"
    resumed = "checkpoint read: checkpoint-0000-000000000020.json", "step 20: restored (from step 20)"
    check_in_order(lines(), f"checkpoint written: {tmp_path}", *saved, *resumed, "step 40: checkpoint saved")


def test_a_lost_worker_that_comes_back_and_a_driver_that_is_fenced_off_are_told(lines):
    with shards(limit=FOREVER, grace=30) as (addresses, servers), connected(addresses) as old:
        with working(addresses):
            until(old, lambda status: status["version"] > 5)
            for channel in list(servers[0]._channels):
                if channel is not servers[0].driver._channel:
                    channel.hang_up()
            until(old, lambda status: len(status["events"]) == 2)
            with closing(ShardClient(addresses, term=1)) as new:
                eventually(lambda: any("fenced off" in line for line in lines()))
                new.stop()
        with suppress(ShardLost):
            old.poll(0)
    check_in_order(lines(), "worker 0: worker lost after step ", "worker 0: worker joined after step ")
    check_in_order(lines(), "a driver of term 1 has come: the one before is fenced off")
    assert any(line.startswith("worker 0 lost its shards (") for line in lines())


def test_a_lock_that_is_taken_over_names_whose_it_was(lines, tmp_path):
    (tmp_path / NAME).write_text("torn")
    FolderLock(tmp_path).close()
    assert lines() == [f"the lock of {tmp_path} is taken over from a file that can't be read"]
