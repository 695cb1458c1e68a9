"""Control groups of both versions, on folders that look like the kernel's, and the real one where there is one."""

import os

import pytest

from grader.sandbox import cgroup
from grader.sandbox.cgroup import ControlGroup, control_group


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A function that lays out a tree: `own` is what /proc/self/cgroup says, `files` what stands below the root."""

    def lay_out(own, files):
        root = tmp_path / "cgroup"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (tmp_path / "own").write_text(own)
        monkeypatch.setattr(cgroup, "ROOT", root)
        monkeypatch.setattr(cgroup, "OWN_GROUPS", tmp_path / "own")
        monkeypatch.setattr(cgroup, "_remove", lambda folder: None)
        return root

    return lay_out


def test_version_2_makes_a_group_beside_its_own_where_memory_is_handed_down(kernel):
    files = {"user/cgroup.subtree_control": "cpu memory pids", "user/mine/cgroup.subtree_control": ""}
    root = kernel("0::/user/mine\n", files)
    with control_group(1000, 10) as group:
        assert [folder.parent for folder in group.folders] == [root / "user"]


def test_version_2_without_memory_handed_down_has_no_group(kernel):
    kernel("0::/user/mine\n", {"user/cgroup.subtree_control": "cpu", "user/mine/cgroup.subtree_control": ""})
    with control_group(1000, 10) as group:
        assert group == ControlGroup() and not group.counts_memory


def test_version_1_makes_a_group_for_memory_one_for_processes_and_one_that_counts_time(kernel):
    files = {"memory/a/tasks": "", "pids/tasks": "", "cpuacct/tasks": "", "freezer/tasks": ""}
    root = kernel("4:memory:/a\n3:pids:/\n2:cpu,cpuacct:/\n1:freezer:/\n", files)
    with control_group(1000, 10) as group:
        assert [folder.parent for folder in group.folders] == [root / "memory/a", root / "pids", root / "cpuacct"]


@pytest.mark.parametrize(
    ("file", "text"), [("cpu.stat", "usage_usec 1500000\nuser_usec 9\n"), ("cpuacct.usage", "1500000000\n")]
)
def test_the_time_that_a_group_used_is_read_in_both_versions(tmp_path, file, text):
    assert ControlGroup((tmp_path,)).cpu_seconds() is None
    (tmp_path / file).write_text(text)
    assert ControlGroup((tmp_path,)).cpu_seconds() == 1.5


def test_limits_are_written_and_processes_added(kernel):
    kernel("3:memory:/\n", {"memory/tasks": ""})
    with control_group(1000, 10) as group:
        (folder,) = group.folders
        assert not group.counts_memory  # no kernel has put the files there
        (folder / "memory.limit_in_bytes").write_text("")
        assert group.counts_memory
        assert group.holding(12345) == group
        assert (folder / "cgroup.procs").read_text() == "12345"


def test_a_group_to_which_no_process_may_be_moved_is_not_counted_on(tmp_path):
    (tmp_path / "memory.max").write_text("1000")
    (tmp_path / "cgroup.procs").mkdir()  # can't be written to
    assert not ControlGroup((tmp_path,)).holding(12345).counts_memory


@pytest.mark.parametrize(
    "file, text",
    [
        ("memory.events", "low 0\noom 3\noom_kill {}\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"),
    ],
)
def test_a_process_killed_for_its_memory_is_seen(tmp_path, file, text):
    group = ControlGroup((tmp_path,))
    assert not group.ran_out_of_memory()
    for count, wanted in ((0, False), (2, True)):
        (tmp_path / file).write_text(text.format(count))
        assert group.ran_out_of_memory() is wanted


def test_what_a_killed_grader_left_is_removed_and_anothers_stays(kernel):
    root = kernel("3:memory:/\n", {"memory/tasks": ""})
    nobody = next(pid for pid in range(4_000_000, 5_000_000) if not os.path.exists(f"/proc/{pid}"))
    for pid in (nobody, 1):
        (root / f"memory/course-grading-{pid}-0").mkdir()
    with control_group(1000, 10):
        left = {folder.name for folder in (root / "memory").glob("course-grading-*")}
    assert f"course-grading-{nobody}-0" not in left and "course-grading-1-0" in left


def test_the_real_one_is_gone_afterwards():
    with control_group(64 * 2**20, 8) as group:
        if not group.folders:
            pytest.skip("NOT TESTED HERE: this machine lets us make no control group")
        limits = [folder / name for folder in group.folders for name in ("memory.limit_in_bytes", "memory.max")]
        assert [int(limit.read_text()) for limit in limits if limit.exists()] == [64 * 2**20]
    assert not any(folder.exists() for folder in group.folders)
