"""Who may write into a checkpoint folder: one training at a time, a newer chief of the same one, nobody else."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch

from course.training import Snapshot, TrainingError
from course.training.checkpoint.folder_lock import NAME, FolderLock, LockedCheckpoints
from tests.course.training.forked import forked


def test_a_second_training_is_refused_by_name_and_may_come_when_the_first_is_done(tmp_path):
    with FolderLock(tmp_path / "new" / "folder") as first:
        assert first.holds()
        with pytest.raises(ValueError, match=r"process \d+ on .* is training into this folder.*Give each"):
            FolderLock(first.folder)
        assert first.holds()
    FolderLock(first.folder).close()
    assert list(first.folder.iterdir()) == []


def test_closing_twice_or_late_takes_nothing_from_the_next(tmp_path):
    first = FolderLock(tmp_path)
    first.close()
    with FolderLock(tmp_path) as second:
        first.close()
        assert second.holds() and not first.holds()


def lock_and_die(folder):
    FolderLock(folder)
    os._exit(0)


def test_the_file_of_a_process_that_has_ended_is_taken_over(tmp_path):
    forked(lock_and_die, tmp_path).join(120)
    assert (tmp_path / NAME).exists()
    with FolderLock(tmp_path) as lock:
        assert lock.holds()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no zombies")
def test_a_killed_process_that_its_parent_has_not_waited_for_does_not_keep_the_folder(tmp_path):
    lock = f"FolderLock({str(tmp_path)!r}); print('held', flush=True); input()"
    code = f"from course.training.checkpoint.folder_lock import FolderLock; {lock}"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "held\n"
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
        with FolderLock(tmp_path) as lock:
            assert lock.holds()


def test_a_number_that_another_process_has_now_does_not_keep_the_folder_and_one_on_another_host_does(tmp_path):
    with FolderLock(tmp_path):
        owner = json.loads((tmp_path / NAME).read_text())
    (tmp_path / NAME).write_text(json.dumps({**owner, "started": owner["started"] - 5}))
    FolderLock(tmp_path).close()
    (tmp_path / NAME).write_text(json.dumps({**owner, "host": "elsewhere", "pid": 1}))
    with pytest.raises(ValueError, match=f"process 1 on elsewhere.*remove .*{NAME}"):
        FolderLock(tmp_path)


def test_what_is_no_lock_is_taken_over(tmp_path):
    (tmp_path / NAME).write_text("torn")
    FolderLock(tmp_path).close()


def test_a_chief_of_a_later_term_takes_the_folder_and_the_old_one_sees_it(tmp_path):
    old = FolderLock(tmp_path, "tls://localhost:1", term=1)
    with pytest.raises(ValueError, match="is training into"):
        FolderLock(tmp_path, "tls://localhost:1", term=1)
    with pytest.raises(ValueError, match="is training into"):
        FolderLock(tmp_path, "tls://localhost:2", term=9)
    with FolderLock(tmp_path, "tls://localhost:1", term=2) as new:
        assert new.holds() and not old.holds()
        old.close()
        assert new.holds()


@pytest.mark.parametrize("kind", ["file", "below a file"])
def test_a_folder_that_cannot_be_is_named(tmp_path, kind):
    (tmp_path / "f").write_text("x")
    with pytest.raises(ValueError, match="nothing can be written there.*Name a folder"):
        FolderLock(tmp_path / "f" if kind == "file" else tmp_path / "f" / "g")


def snapshot(step, incarnation=0):
    return Snapshot(step, {"w": torch.tensor([float(step)])}, kind="SGD", incarnation=incarnation)


def test_a_folder_that_was_removed_is_told_as_that_and_is_saved_into_when_it_is_there_again(tmp_path):
    with FolderLock(tmp_path / "saved") as lock:
        checkpoints = LockedCheckpoints(lock, keep=5)
        checkpoints.save(snapshot(10))
        shutil.rmtree(lock.folder)
        with pytest.raises(OSError, match="was removed.*Make it again") as caught:
            checkpoints.save(snapshot(20))
        assert "another" not in str(caught.value) and not lock.folder.exists()
        lock.folder.mkdir()
        checkpoints.save(snapshot(30))
        assert lock.holds() and [saved.version for saved in checkpoints.all()] == [30]
    assert not (lock.folder / NAME).exists()


def test_a_lock_file_that_was_removed_is_written_again_unless_others_have_saved_there(tmp_path):
    with FolderLock(tmp_path) as lock:
        checkpoints = LockedCheckpoints(lock, keep=5)
        for step in (10, 20):
            (tmp_path / NAME).unlink(missing_ok=True)
            checkpoints.save(snapshot(step))
            assert lock.holds()
        (tmp_path / NAME).unlink()
        with FolderLock(tmp_path) as other:
            with pytest.raises(TrainingError, match=rf"process {os.getpid()} on .* has it now"):
                checkpoints.save(snapshot(30))
            LockedCheckpoints(other, keep=5).save(snapshot(5, incarnation=1))
        with pytest.raises(TrainingError, match="another training has saved in it"):
            checkpoints.save(snapshot(30))
        assert [saved.version for saved in checkpoints.all()] == [10, 20, 5]
