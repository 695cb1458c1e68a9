"""The list of this machine's devices, as objects, as text, as a table and on the command line."""

import re
from types import SimpleNamespace

import torch
from click.testing import CliRunner

from course.__main__ import main
from course.devices import device_list, list_devices
from simgpu import simulated_gpus


def test_the_first_device_is_the_cpu_with_memory_and_a_description():
    cpu = list_devices()[0]
    assert (cpu.name, cpu.kind, cpu.simulated) == ("/cpu:0", "cpu", False)
    assert repr(cpu) == "Device(name='/cpu:0', kind='cpu')", "nothing about the machine"
    assert 2**28 < cpu.memory < 2**50
    assert re.search(r", \d+ cores?$", cpu.description)


def test_a_containers_limit_counts_as_the_memory(monkeypatch):
    monkeypatch.setattr(device_list.Path, "read_text", lambda self: "1073741824\n")
    assert device_list._cpu_memory() == 2**30


def test_the_command_prints_the_table():
    printed = CliRunner().invoke(main, ["devices"])
    assert printed.exit_code == 0 and printed.output.strip() == str(list_devices())
    assert printed.output.splitlines()[0].split() == ["name", "memory", "description"]


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
        assert devices[-1].capability == (9, 0) and "compute capability 9.0 (simulated)" in str(devices)
        for shown in (str(devices), devices._repr_mimebundle_()["text/html"]):
            assert shown.count("(simulated)") == 2
        assert list_devices("worker", 1)[-1].name == "/job:worker/task:1/gpu:1"
    assert repr(list_devices()) == before
