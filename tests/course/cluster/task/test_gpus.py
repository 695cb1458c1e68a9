"""A task with simulated GPUs: work is placed on them by its pin, sees them without one, and the list marks them."""

import os
import sys
from functools import partial

import dask
import pytest
import torch

from course import log_placement
from course.cluster import local_cluster
from course.cluster.task.return_values import run_for_home


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(local=2, simulated_gpus=(2, "T4")) as own:
        yield own


def placed():
    """Where a product and its gradient are, as this task sees it."""
    import torch

    a = torch.ones(2, 2, requires_grad=True)
    product = a @ a
    product.sum().backward()
    return str(product.device), str(a.grad.device), product.tolist()


def test_a_pin_with_a_gpu_places_the_ops_there(cluster):
    with cluster.at("/job:local/task:1/gpu:1"):
        ours = cluster.executor.submit(placed)
        theirs = cluster.client.submit(placed, pure=False)
    with cluster.at("/job:local/task:1/device:CPU:0"):
        on_cpu = cluster.executor.submit(placed)
    assert ours.result(timeout=60) == theirs.result(timeout=60) == ("cuda:1", "cuda:1", [[2, 2], [2, 2]])
    assert on_cpu.result(timeout=60) == ("cpu", "cpu", [[2, 2], [2, 2]])


def test_work_without_a_device_in_its_pin_finds_the_gpus_by_torchs_names(cluster):
    def sums():
        import torch

        return torch.cuda.device_count(), torch.ones(3, device="cuda:1").sum().item(), str((torch.ones(1) + 1).device)

    assert cluster.executor.submit(sums).result(timeout=60) == (2, 3.0, "cpu")


def logged_here():
    """What a log that a task's function makes itself names as the product's device."""
    from course.devices import log_placement

    with log_placement() as log:
        placed()
    return [record.device for record in log if record.op == "mm"], log.lines()[0]


def test_a_log_inside_a_task_names_the_task_in_every_device(cluster):
    with cluster.at("/job:local/task:1/gpu:1"):
        devices, line = cluster.executor.submit(logged_here).result(timeout=60)
    assert set(devices) == {"/job:local/task:1/gpu:1"}
    assert line.endswith("/job:local/replica:0/task:1/device:GPU:1 (simulated)")


def test_a_log_outside_gathers_the_ops_of_tasks_however_they_are_sent(cluster):
    a, places = torch.ones(2, 2), ["/job:local/task:0", "/job:local/task:1/gpu:1", "/job:local/task:1"]
    with log_placement() as log:
        a + a
        for place, work in zip(places, [(torch.matmul, a, a), (placed,)], strict=False):
            with cluster.at(place):
                cluster.executor.submit(*work).result(timeout=60)
        with cluster.at(places[2]):
            cluster.client.submit(torch.matmul, a, a, pure=False).result(timeout=60)
            described = dask.delayed(torch.matmul)(a, a)
        described.compute(scheduler=cluster.client)
        list(cluster.executor.map(torch.neg, [a, a, a]))
    on_tasks = [(record.op, record.device) for record in log if record.device.startswith("/job:")]
    assert [record.op for record in log][0] == "add" and log[0].device == "/cpu:0"
    assert on_tasks[0] == ("mm", "/job:local/task:0/cpu:0")
    assert ("mm", "/job:local/task:1/gpu:1") in on_tasks and any(record.backward for record in log)
    assert on_tasks.count(("mm", "/job:local/task:1/cpu:0")) == 2, "client.submit, and delayed"
    assert sum(op == "neg" for op, _ in on_tasks) == 3
    assert "mm: (mm): /job:local/replica:0/task:0/device:CPU:0" in log.lines() and log.graph().html


def test_a_log_has_the_ops_of_a_function_that_fails_and_none_of_what_is_sent_after_it(cluster):
    def fails():
        import torch

        torch.ones(2) / torch.ones(3)

    with log_placement(timed=True) as log, pytest.raises(RuntimeError, match="size of tensor"):
        cluster.executor.submit(fails).result(timeout=60)
    assert {record.op for record in log} >= {"ones"} and all(record.seconds_kind == "measured" for record in log)
    count = len(log)
    cluster.executor.submit(torch.ones, 2).result(timeout=60)
    assert len(log) == count


def test_every_tasks_devices_are_listed_and_simulated_ones_marked(cluster):
    devices = cluster.devices()
    assert [d.name for d in devices if d.simulated] == [f"/job:local/task:{t}/gpu:{g}" for t in (0, 1) for g in (0, 1)]
    assert [d.name for d in devices if not d.simulated] == [f"/job:local/task:{t}/cpu:0" for t in (0, 1)]


def test_a_gpu_that_the_task_lacks_is_an_error_that_lists_what_it_has(cluster):
    with cluster.at("/job:local/task:0/gpu:2"), pytest.raises(ValueError, match=r"has /cpu:0, /gpu:0 \(simulated\)"):
        cluster.executor.submit(placed).result(timeout=60)


def returned(shape):
    """A product on the pin's device, alone or inside `shape`, as a student would return it."""
    import torch

    product = torch.ones(2, 2) @ torch.ones(2, 2)
    inside = {
        "alone": product,
        "nested": {"step": 1, "all": [(3, "x"), (0.5, [product])]},
        "module": torch.nn.Linear(2, 2).to(product.device),
        "home": [product.cpu(), product.sum().item(), str(product.device)],
    }
    return inside[shape]


@pytest.mark.parametrize("shape", ["alone", "nested", "module"])
def test_a_tensor_left_on_a_gpu_is_an_error_that_says_where_it_is_and_what_to_do(cluster, shape):
    with cluster.at("/job:local/task:1/gpu:1"):
        future = cluster.executor.submit(partial(returned, shape=shape))
    with pytest.raises(TypeError, match=r"^returned returned .* on cuda:1 of /job:local/task:1.*\.cpu\(\)"):
        future.result(timeout=60)  # without the check it never comes


def test_what_was_brought_home_arrives(cluster):
    with cluster.at("/job:local/task:1/gpu:1"):
        product, total, device = cluster.executor.submit(returned, "home").result(timeout=60)
    assert (product.tolist(), total, device) == ([[2, 2], [2, 2]], 8, "cuda:1")


def test_a_result_that_holds_itself_is_looked_through_once():
    circle = [torch.ones(2), {"a": (1, "b")}]
    circle.append(circle)
    assert run_for_home(lambda: circle) is circle


@pytest.mark.parametrize("count", [-1, 129, True, "2", 1.5, (1, 2), (1, "no such model")])
def test_a_wrong_number_of_gpus_is_refused_before_anything_starts(count):
    with pytest.raises(ValueError, match=r"simulated_gpus=|model='no such model'"):
        local_cluster(local=1, simulated_gpus=count)


def test_a_function_that_exits_is_told_like_any_exception_and_its_task_lives(cluster):
    with cluster.at("/job:local/task:0"):
        process = cluster.executor.submit(os.getpid).result(timeout=60)
        with pytest.raises(RuntimeError, match="exit raised SystemExit: 3"):
            cluster.executor.submit(sys.exit, 3).result(timeout=60)
        assert cluster.executor.submit(os.getpid).result(timeout=60) == process
