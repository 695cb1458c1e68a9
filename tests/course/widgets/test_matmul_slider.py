"""MatmulSlider and ChapterOutlook: what they show comes from their engines, says what it is, and can be stopped."""

import re
import threading
from pathlib import Path

import pytest

from course.chapter_times import CHAPTERS, LIMIT, outlook, usable_cores
from course.timing import MatmulTiming
from course.widgets import ChapterOutlook, MatmulSlider, matmul_slider


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


def told(widget):
    """Return what the page is told of the last result."""
    return widget.answer(widget.result)


def test_the_slider_measures_the_size_it_shows(engine):
    widget = MatmulSlider(size=512).wait()
    try:
        assert engine[-1] == 512 and widget.result.cpu.size == widget.result.gpu.size == 512
        widget.size = 3000
        widget.wait()
        assert engine[-1] == 3000 and "n = 3000" in told(widget)["small"]
        assert "measured: a test's CPU" in told(widget)["sentence"]
    finally:
        widget.close()


def test_every_figure_of_the_slider_says_what_it_is(engine):
    widget = MatmulSlider(size=1500).wait()
    try:
        assert widget.result.gpu.kind == "modelled" and "data sheet, not measured" in told(widget)["sentence"]
        static = widget.static()
        assert "recorded: AMD EPYC, 2 cores, 2026-11-21" in static.html and "recorded" in repr(static)
        assert "measured: a test" not in static.html
        widget.gpu = "t4"
        assert "NVIDIA T4 data sheet" in told(widget.wait())["sentence"]
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


def test_a_size_that_is_not_on_the_slider_is_refused(engine):
    widget = MatmulSlider(size=64).wait()
    try:
        with pytest.raises(Exception, match="expected any of .64, 128"):
            widget.size = 65
    finally:
        widget.close()


# The outlook


def test_the_outlook_widget_shows_what_the_formula_says():
    widget = ChapterOutlook(cores=2, memory=8)
    assert f"0 of {len(CHAPTERS)} slow here" in repr(widget.static())
    widget.cores = 1
    slow = [o for o in outlook(1, 8) if o.why]
    assert slow and f"{len(slow)} of {len(CHAPTERS)} slow here" in repr(widget.static())
    assert all(o.chapter.name in widget._picture.value for o in slow)
    widget.close()


def test_the_outlook_knows_every_chapter_and_the_minutes_it_states():
    stated = {}
    for source in sorted((Path(__file__).parents[3] / "notebooks" / "source").glob("[0-9]*.py")):
        head = source.read_text(encoding="utf-8")[:2000]
        found = re.search(r"\| (?:Minutes|Time) \| (\d+)", head)
        stated[source.stem] = int(found[1]) if found else None
    assert {c.name: c.minutes for c in CHAPTERS} == stated


def test_on_the_machine_it_was_seen_on_every_chapter_keeps_its_promise():
    seen = outlook(cores=2, memory=2)
    assert [o.seconds for o in seen] == [c.seconds for c in CHAPTERS]
    assert not any(o.why for o in seen) and max(o.seconds for o in seen) <= LIMIT


#: Runs on two cores, 2026-11-22: (times as long a product, a start), as chapter 00 measured them, and seconds.
RUNS = {
    "to itself": ((0.8, 1.0), (7.2, 5.6, 26.4, 9.0, 21.6, 10.9, 39.1, 20.0)),
    "half a core of two, by a control group": ((6.9, 2.27), (13.7, 12.0, 52.3, 16.1, 39.0, 23.1, 68.2, 47.2)),
    "nine other programs": ((7.3, 2.6), (16.1, 15.1, 76.1, 24.9, 32.1, 18.1, 103.0)),
    "twenty, and products without AVX": ((12.0, 5.33), (30.9, 25.5, 138.2, 76.2, 122.0, 39.6)),
}


@pytest.mark.parametrize("run", RUNS)
def test_the_forecast_is_within_a_factor_of_two_of_what_was_seen(run):
    (slower, starts), seen = RUNS[run]
    for o, seconds in zip(outlook(2, 8, slower, starts), seen, strict=False):
        assert 0.5 < o.seconds / seconds < 2, (o.chapter.name, o.seconds, seconds)


def test_starting_a_process_does_not_take_longer_where_only_products_do():
    usual, slow_products = outlook(2, 8), outlook(2, 8, slower=4)
    for before, after in zip(usual, slow_products, strict=True):
        assert after.seconds - before.seconds == pytest.approx(3 * before.chapter.products)
    assert [o.chapter.name for o in slow_products if o.why] == ["02_matmul_timing"]


@pytest.mark.parametrize("chapter", range(len(CHAPTERS)))
def test_more_cores_never_slow_a_chapter_down_and_less_memory_is_said(chapter):
    times = [outlook(cores, 8)[chapter].seconds for cores in (1, 2, 4, 8, 64)]
    assert times == sorted(times, reverse=True)
    assert "GiB" in outlook(2, 0.1)[chapter].why


def test_an_outlook_for_no_machine_is_refused():
    with pytest.raises(ValueError, match="cores=0"):
        outlook(0, 8)


@pytest.mark.parametrize(
    ("text", "cores"), [("100000 100000\n", 1), ("50000 100000\n", 1), ("max 100000\n", None), ("nonsense\n", None)]
)
def test_a_containers_quota_counts(tmp_path, text, cores):
    (tmp_path / "cpu.max").write_text(text)
    assert usable_cores(tmp_path) == (cores or usable_cores(tmp_path / "nowhere"))
