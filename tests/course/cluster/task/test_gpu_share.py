"""One GPU a task: which of its host's GPUs a task sees, on hosts with as many as the test says."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.cluster import ClusterSpec
from course.cluster.task import gpu_share as gpus
from course.cluster.task.gpu_share import VARIABLE, share_gpus, visible_gpus

SPEC = ClusterSpec(
    {"scheduler": ["a:1"], "ps": ["a:2"], "worker": ["a:3", "b:3", "a:4", "a:5"], "local": ["a:6", "b:7"]}
)


@pytest.fixture
def host(monkeypatch):
    """A function that gives this machine as many GPUs as it is told."""
    return lambda number: monkeypatch.setattr(gpus, "count_gpus", lambda: number)


def shares(spec, environment):
    """What each task of the spec would see, by name, where all hosts are alike."""
    devices = {}
    for job in spec.jobs:
        for index in range(spec.num_tasks(job)):
            variables = dict(environment)
            share_gpus(spec, job, index, variables)
            devices[f"{job}{index}"] = variables.get(VARIABLE)
    return devices


def test_the_tasks_of_a_host_take_its_gpus_in_the_specs_order(host):
    host(4)
    assert shares(SPEC, {}) == {
        "scheduler0": None, "ps0": None, "worker0": "0", "worker1": "0", "worker2": "1", "worker3": "2", "local0": "3",
        "local1": "1",
    }  # fmt: skip


def test_with_more_tasks_than_gpus_they_begin_again(host):
    host(2)
    devices = shares(SPEC, {})
    assert [devices[task] for task in ("worker0", "worker2", "worker3", "local0")] == ["0", "1", "0", "1"]


@pytest.mark.parametrize("number", [0, 1])
def test_without_several_gpus_nothing_is_set(host, number):
    host(number)
    assert set(shares(SPEC, {}).values()) == {None}


def test_what_is_set_already_is_divided_not_overridden(host):
    host(8)
    devices = shares(SPEC, {VARIABLE: "GPU-aa, 5"})
    assert [devices[task] for task in ("worker0", "worker2", "worker3")] == ["GPU-aa", "5", "GPU-aa"]
    assert devices["ps0"] == "GPU-aa, 5"
    assert set(shares(SPEC, {VARIABLE: "3"}).values()) == {"3"}
    assert set(shares(SPEC, {VARIABLE: ""}).values()) == {""}  # none is a choice too
    assert visible_gpus({VARIABLE: "-1"}) == []


@given(st.integers(2, 9), st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_no_two_tasks_of_a_host_share_a_gpu_while_there_are_enough(number, hosts):
    spec = ClusterSpec({"worker": [f"{host}:{port}" for port, host in enumerate(hosts, 1)]})
    taken_at = {}
    for index, host in enumerate(hosts):
        variables = {VARIABLE: ",".join(map(str, range(number)))}
        taken_at.setdefault(host, []).append(int(share_gpus(spec, "worker", index, variables)))
    for taken in taken_at.values():
        assert taken == [place % number for place in range(len(taken))]


def test_gpus_are_counted_without_starting_cuda(tmp_path, monkeypatch):
    for name in ("0000:01:00.0", "0000:02:00.0"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(gpus, "_DRIVER", tmp_path)
    assert gpus.count_gpus() == 2
    monkeypatch.setattr(gpus, "_DRIVER", tmp_path / "none")
    listing = subprocess.CompletedProcess([], 0, "GPU 0: H100 (UUID: GPU-1)\n  MIG 1g\nGPU 1: H100 (UUID: GPU-2)\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: listing)
    assert gpus.count_gpus() == 2
    monkeypatch.undo()
    code = "import sys, course.cluster.task.gpu_share as g; g.count_gpus(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.stdout == "False\n"
