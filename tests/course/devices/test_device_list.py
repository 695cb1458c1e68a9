"""The list of this machine's devices, as objects, as text, as a table and on the command line."""

import re
import subprocess
import sys
from types import SimpleNamespace

import torch

from course.devices import Device, DeviceName, device_list, list_devices
from simgpu import simulated_gpus


def test_the_first_device_is_the_cpu_with_memory_and_a_description():
    cpu = list_devices()[0]
    assert (cpu.name, cpu.kind, cpu.simulated) == ("/cpu:0", "cpu", False)
    assert 2**28 < cpu.memory < 2**50
    assert re.search(r", \d+ cores?$", cpu.description)


def test_every_gpu_that_torch_sees_is_listed_in_order():
    gpus = [d.name for d in list_devices() if d.kind == "gpu"]
    assert gpus == [f"/gpu:{index}" for index in range(torch.cuda.device_count())]


def test_the_repr_tells_nothing_about_the_machine():
    assert repr(list_devices()[0]) == "Device(name='/cpu:0', kind='cpu')"


def test_a_task_gives_its_devices_full_names():
    first = list_devices(job="worker", task=1)[0]
    assert first.name == "/job:worker/task:1/cpu:0"
    assert DeviceName.parse(first.name).local == DeviceName.parse("/cpu:0")


def test_a_containers_limit_counts_as_the_memory(monkeypatch):
    monkeypatch.setattr(device_list.Path, "read_text", lambda self: "1073741824\n")
    assert device_list._cpu_memory() == 2**30


def test_a_simulated_device_says_so_in_text_and_table(monkeypatch):
    gpu = Device("/gpu:0", "gpu", 2**34, "H200", simulated=True)
    monkeypatch.setattr(device_list, "_gpus", lambda: [gpu])
    assert "H200 (simulated)" in str(list_devices())
    assert "H200 (simulated)" in list_devices()._repr_mimebundle_()["text/html"]


def test_the_command_prints_the_table():
    printed = subprocess.run(
        [sys.executable, "-m", "course", "devices"], capture_output=True, text=True, timeout=60, check=True
    )
    assert printed.stdout.strip() == str(list_devices())
    assert printed.stdout.splitlines()[0].split() == ["name", "memory", "description"]


def test_a_cuda_gpu_is_listed_with_its_memory_and_capability(monkeypatch):
    """The queries of torch.cuda are stood in for: this says what is made of their answers."""
    card = SimpleNamespace(total_memory=2**34, name="NVIDIA Card", major=9, minor=0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: card)
    first, second = [device for device in list_devices() if device.kind == "gpu"]
    assert (first.name, second.name) == ("/gpu:0", "/gpu:1")
    assert (first.memory, first.capability, first.simulated) == (2**34, (9, 0), False)
    assert first.description == "NVIDIA Card, compute capability 9.0"
    assert "simulated" not in str(list_devices()) + repr(list_devices())


def test_apples_gpu_is_listed_with_the_memory_it_should_stay_in(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 2**33)
    last = list_devices()[-1]
    assert (last.name, last.kind, last.memory, last.capability) == ("/mps:0", "mps", 2**33, None)


def test_simulated_gpus_are_listed_while_they_are_open_and_marked_wherever_they_show():
    before = repr(list_devices())
    with simulated_gpus(2):
        devices = list_devices()
        assert [(d.name, d.simulated) for d in devices if d.kind == "gpu"] == [("/gpu:0", True), ("/gpu:1", True)]
        assert repr(devices).count("simulated=True") == 2
        for shown in (str(devices), devices._repr_mimebundle_()["text/html"]):
            assert shown.count("(simulated)") == 2
        assert list_devices("worker", 1)[-1].name == "/job:worker/task:1/gpu:1"
    assert repr(list_devices()) == before
