"""Where a worker computes: on the GPU of its own task, which is simulated here, and marked so."""

import os
from collections import namedtuple
from dataclasses import dataclass
from functools import partial

import pytest
import torch

from course import local_cluster, simulated_gpus
from course.devices import list_devices
from course.training import TrainingError, linear_regression, train
from course.training.worker.device import DeviceLeaves, moved, own_device

SGD = partial(torch.optim.SGD, lr=0.02)
PROBLEM = linear_regression()
VARIABLE = "CUDA_VISIBLE_DEVICES"


@pytest.fixture(scope="module")
def cluster(no_leaks_from_this_file):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "4,7")  # as on a machine with two GPUs to share out
        with local_cluster(ps=1, worker=2, simulated_gpus=1) as running:
            yield running


@dataclass(frozen=True)
class Looking:
    """A line whose loss refuses any device but `wanted`, and any CPU tensor among what it is given."""

    wanted: str

    def initial(self):
        return PROBLEM.initial()

    def batch(self, worker, version, generator):
        x, y = PROBLEM.batch(worker, version, generator)
        return {"x": x, "y": [y], "words": "are left alone"}

    def loss(self, parameters, batch):
        devices = {str(tensor.device) for tensor in (*parameters.values(), batch["x"], *batch["y"])}
        assert devices == {self.wanted}
        return PROBLEM.loss(parameters, (batch["x"], batch["y"][0]))


@dataclass(frozen=True)
class Forgetful:
    """A line whose loss uses a tensor of its own, which nobody moved."""

    own: torch.Tensor

    initial, batch = PROBLEM.initial, PROBLEM.batch

    def loss(self, parameters, batch):
        return PROBLEM.loss(parameters, batch) + (batch[0] * self.own).sum()


def test_each_worker_computes_on_its_own_tasks_gpu_and_gets_the_cpus_numbers(cluster):
    settings = dict(optimizer=SGD, mode="sync", total_steps=10)
    on_gpu = train(Looking("cuda:0"), cluster, device="/gpu:0", **settings)
    on_cpu = train(Looking("cpu"), cluster, **settings)
    assert all(torch.equal(on_gpu.parameters[name], on_cpu.parameters[name]) for name in on_cpu.parameters)
    assert on_gpu.history["loss"].tolist() == on_cpu.history["loss"].tolist()
    assert [device.name for device in on_gpu.devices] == [f"/job:worker/task:{index}/gpu:0" for index in range(2)]
    assert all(device.simulated for device in on_gpu.devices) and str(on_gpu.devices).count("(simulated)") == 2
    assert on_cpu.devices == []


def test_other_spellings_of_a_device_are_taken_and_the_cpu_is_one(cluster):
    settings = dict(optimizer=SGD, total_steps=3)
    assert train(Looking("cuda:0"), cluster, device="cuda:0", **settings).version == 3
    result = train(Looking("cpu"), cluster, device="/device:CPU:0", **settings)
    assert [device.name for device in result.devices] == ["/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0"]


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("/gpu:1", r"train\(device='/gpu:1'\): /job:worker/task:0 has .*/gpu:0 \(simulated\)"),
        ("/job:worker/task:1/gpu:0", "every worker computes on a device of its own task"),
        ("/job:worker", "give the device's part alone"),
        ("gpuu", r"train\(device='gpuu'\)"),
        (0, r"train\(device=0\)"),
    ],
)
def test_a_device_that_is_none_is_refused_before_anything_starts(cluster, device, words):
    with pytest.raises(ValueError, match=words):
        train(PROBLEM, cluster, optimizer=SGD, device=device)


def test_what_stayed_on_the_cpu_is_named_with_what_to_do(cluster):
    with pytest.raises(TrainingError, match=r"whatever else `loss` uses must be too"):
        train(Forgetful(torch.ones(20)), cluster, optimizer=SGD, device="/gpu:0")
    assert train(PROBLEM, cluster, optimizer=SGD, device="/gpu:0", total_steps=5).version == 5


def test_of_several_gpus_each_worker_of_a_local_cluster_sees_one(cluster):
    def visible(task):
        with cluster.at(task):
            return cluster.executor.submit(os.getenv, VARIABLE).result(30)

    devices = {task: visible(task) for task in cluster.tasks}
    assert devices == {"/job:ps/task:0": "4,7", "/job:worker/task:0": "4", "/job:worker/task:1": "7"}


def test_a_batch_of_any_shape_is_moved_and_what_cannot_move_is_left():
    Pair = namedtuple("Pair", "x words")
    with simulated_gpus(1):
        batch = moved(
            [Pair(torch.ones(1), "w"), {"n": (torch.ones(2), 3)}, torch.nn.Linear(1, 1)], torch.device("cuda:0")
        )
        assert str(batch[0].x.device) == str(batch[1]["n"][0].device) == str(batch[2].weight.device) == "cuda:0"
        assert batch[0].words == "w" and batch[1]["n"][1] == 3


def test_leaves_on_a_gpu_follow_what_is_received_in_place():
    received = {"slope": torch.tensor(0.0), "intercept": torch.tensor(0.0)}
    batch = torch.tensor([1.0]), torch.tensor([3.0])
    with simulated_gpus(1):
        leaves = DeviceLeaves(received, "/gpu:0")
        first, _ = leaves.gradient(PROBLEM, batch)
        received["intercept"].fill_(3.0)
        second, gradients = leaves.gradient(PROBLEM, batch)
        assert (first, second) == (9.0, 0.0) and str(gradients[0].device) == "cuda:0"


def test_a_role_finds_its_own_device_or_says_which_there_are():
    assert own_device("/cpu:0").name == "/cpu:0"
    missing = f"/gpu:{len(list_devices())}"
    with pytest.raises(ValueError, match=r"this worker has /cpu:0.*--simulated-gpus 1"):
        own_device(missing)
