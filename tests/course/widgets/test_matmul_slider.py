"""MatmulSlider: what it shows comes from its engine, says what it is, and can be stopped."""

import threading

import pytest

from course.timing import MatmulTiming
from course.widgets import MatmulSlider, matmul_slider


@pytest.fixture
def engine(monkeypatch):
    """A stand-in for measuring: it notes the sizes asked for and takes no time."""
    asked = []

    def measured(sizes, devices, budget, watch):
        asked.append(sizes[0])
        watch(0.5)
        return [MatmulTiming(sizes[0], "/cpu:0", compute=0.25, origin="a test's CPU")]

    monkeypatch.setattr(matmul_slider, "measure_matmul", measured)
    return asked


def answer(widget):
    """Return what the page draws of the last result."""
    return widget.answer(widget.result)


def test_the_slider_measures_the_size_it_shows(engine):
    widget = MatmulSlider(size=512).wait()
    try:
        assert engine[-1] == 512 and widget.result.cpu.size == widget.result.gpu.size == 512
        widget.size = 3000
        widget.wait()
        assert engine[-1] == 3000 and "n = 3000" in answer(widget)["small"]
        assert "measured: a test's CPU" in answer(widget)["sentence"]
    finally:
        widget.close()


def test_every_figure_of_the_slider_says_what_it_is(engine):
    widget = MatmulSlider(size=1500).wait()
    try:
        assert widget.result.gpu.kind == "modelled" and "data sheet, not measured" in answer(widget)["sentence"]
        static = widget.static()
        assert "recorded: AMD EPYC, 2 cores, 2026-11-21" in static.html and "recorded" in repr(static)
        assert "measured: a test" not in static.html
        widget.gpu = "t4"
        assert "NVIDIA T4 data sheet" in answer(widget.wait())["sentence"]
    finally:
        widget.close()


def test_the_static_twin_is_the_same_every_time_and_needs_no_measuring(engine):
    widget = MatmulSlider(size=64).wait()
    try:
        count = len(engine)
        assert widget.static().html == widget.static().html
        assert all("recorded" in answer["small"] for _, answer in widget.stored())
        assert len(engine) == count and "n = 64: the CPU is" in repr(widget.static())
        widget.size = 4500
        assert "n = 4500: the GPU is" in repr(widget.static())
    finally:
        widget.close()


def test_a_stopped_measurement_leaves_the_last_picture(monkeypatch, engine):
    widget = MatmulSlider(size=64).wait()
    before = widget.result
    reached = threading.Event()

    def slow(sizes, devices, budget, watch):
        reached.set()
        while True:
            assert widget.stopped.wait(60), "nobody stopped it"
            watch(0.1)

    monkeypatch.setattr(matmul_slider, "measure_matmul", slow)
    try:
        widget.size = 4500
        assert reached.wait(60)
        widget.stop()
        widget.wait(60)
        assert widget.result is before
    finally:
        widget.close()
