"""Simulated GPUs as the course has them: what they add to simgpu's own."""

import re
from dataclasses import replace

from course import simulated_gpus
from course.devices import Device, list_devices
from course.devices.simulated import ModelledClock, model_for
from simgpu import Work


def test_whatever_shows_modelled_seconds_says_so_and_after_what():
    clock = ModelledClock(model_for("H200"))
    with clock.timed() as timed:
        clock.run(0, Work(flops=67e9))
    for text in (repr(timed.picture("One op")), timed.picture("x").html):
        assert "modelled: NVIDIA H200 SXM data sheet, not measured" in text


def test_a_picture_shows_the_stretch_asked_for():
    clock = ModelledClock(replace(model_for("H200"), origin="made up for a test"))
    clock.run(0, Work(flops=67e9), "earlier")
    with clock.timed() as timed:
        clock.copy(None, 0, 64 * 10**9, pinned=True, name="in")
    picture = timed.picture("A copy")
    assert "GPU:0 copy in" in picture.html and "earlier" not in picture.html
    assert re.search(r"A copy\. \d spans on 2 lanes over 1 s, modelled: made up", picture.alt)


def test_its_devices_are_the_courses_own():
    with simulated_gpus(2, model="epyc-2-cores") as gpus:
        assert gpus.devices == [device for device in list_devices() if device.simulated]
        assert gpus.devices[1] == Device("/gpu:1", "gpu", gpus.model.memory, "epyc-2-cores", simulated=True)


def test_the_simulation_is_told_how_much_memory_the_system_has_left(monkeypatch):
    from types import SimpleNamespace

    import psutil

    with simulated_gpus() as gpus:
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=7))
        assert gpus.free_of_system() == 7
