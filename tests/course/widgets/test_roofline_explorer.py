"""RooflineExplorer: what holds an op back at each size, modelled, recorded or measured; dragged, slid or set."""

import threading

import pytest
import traitlets

from course.timing import track as tracks
from course.timing.roofline import Roofline
from course.timing.track import OPS, SIZES, modelled_track, track_of
from course.traces import load_trace
from course.widgets import RooflineExplorer

ROOF = Roofline("/cpu:0", "float32", peak=100e9, bandwidth=10e9, kind="measured", origin="a test's CPU")


@pytest.fixture
def widget():
    made = RooflineExplorer().wait()
    yield made
    made.close()


@pytest.fixture
def measuring(monkeypatch):
    """Stands in for measuring: it takes no time, and notes what was asked for."""
    asked = []
    monkeypatch.setattr("course.widgets.roofline_explorer.roofline", lambda device: asked.append(device) or ROOF)
    monkeypatch.setattr(tracks, "measured_speed", lambda op, size: asked.append((op, size)) or 25e9)
    return asked


# The engine


@pytest.mark.parametrize("op", OPS)
def test_an_op_stays_under_the_roof_and_its_limit_is_the_slowest_of_three(op):
    found = modelled_track(op)
    sheet = load_trace("h200-data-sheet")
    for stop in found.stops:
        flops, nbytes = OPS[op].flops(stop.size), OPS[op].nbytes(stop.size)
        parts = {
            "launch": sheet.launch,
            "memory": nbytes / sheet.memory_bandwidth,
            "arithmetic": flops / sheet.peak["float32"],
        }
        assert stop.limit == max(parts, key=parts.get)
        assert stop.speed == pytest.approx(flops / max(parts.values()))
        assert stop.speed <= found.roof.bound(stop.intensity) * (1 + 1e-9)


def test_a_product_passes_from_launch_to_arithmetic_and_a_sum_from_launch_to_memory():
    limits = {op: [stop.limit for stop in modelled_track(op).stops] for op in OPS}
    assert limits["matrix @ matrix"][0] == "launch" and limits["matrix @ matrix"][-1] == "arithmetic"
    assert limits["matrix + matrix"][-1] == limits["matrix @ vector"][-1] == "memory"


def test_a_size_without_a_speed_has_its_limit_all_the_same():
    found = track_of("matrix @ matrix", ROOF, {512: 50e9})
    assert found.at(512).speed == 50e9 and found.at(1024).speed is None
    assert found.at(16).limit == "memory" and found.at(1024).limit == "arithmetic"


def test_a_measured_speed_is_one_and_a_large_size_is_not_tried():
    assert tracks.measured_speed("matrix + matrix", 64, seconds=0.01) > 0
    assert tracks.measured_speed("matrix @ matrix", 4500) is None


# The widget


def test_what_holds_the_op_back_is_said_in_words_with_its_kind(widget):
    stop = modelled_track("matrix @ matrix").at(256)
    picture = widget.static()
    assert "launch-bound, 3.36 TFLOP/s (modelled)" in picture.alt and stop.speed == pytest.approx(3.355e12, rel=1e-3)
    assert "data sheet, not measured" in picture.alt and picture.html == RooflineExplorer().static().html
    widget.size = 1500
    assert "compute-bound" in widget.static().alt and "250 operations a byte" in widget.static().alt
    widget.op, widget.size = "matrix + matrix", 3000
    assert "memory-bound" in widget.static().alt and "<script" not in widget.static().html


def test_every_op_on_every_roof_that_needs_no_measuring_lies_in_the_page(widget):
    stored = widget.stored()
    roofs = [("h200", "float64"), ("h200", "float32"), ("h200", "float16"), ("t4", "float32"), ("t4", "float16")]
    assert {(settings["op"], settings["source"], settings["dtype"]) for settings, _ in stored} == {
        (op, *roof) for op in OPS for roof in [*roofs, ("recorded", "float32")]
    }
    for settings, answer in stored:
        assert [stop["size"] for stop in answer["stops"]] == list(SIZES)
        if settings["source"] != "recorded":
            found = modelled_track(settings["op"], settings["source"].upper(), settings["dtype"])
            assert [stop["speed"] for stop in answer["stops"]] == [stop.speed for stop in found.stops]
            assert answer["peak"] == found.roof.peak and answer["kind"] == "modelled"


def test_half_the_bytes_move_an_op_right_and_a_higher_peak_moves_the_ridge_further():
    sheet = load_trace("h200-data-sheet")
    single, half = modelled_track("matrix @ matrix"), modelled_track("matrix @ matrix", dtype="float16")
    for one, other in zip(single.stops, half.stops, strict=True):
        assert other.intensity == pytest.approx(2 * one.intensity)
    assert half.roof.ridge == pytest.approx(sheet.peak["float16"] / sheet.memory_bandwidth) and half.roof.ridge > 200
    sums = [modelled_track("matrix + matrix", dtype=dtype).at(4500).speed for dtype in ("float32", "float16")]
    assert sums[1] == pytest.approx(2 * sums[0])
    with pytest.raises(ValueError, match="T4 sheet lists float32, float16"):
        modelled_track("matrix @ matrix", "T4", "float64")


def test_a_large_intensity_is_said_in_digits(widget):
    widget.update(dtype="float16", size=4500)
    assert "1,500 operations a byte" in widget.wait().static().alt


def test_a_dtype_and_a_source_fit_each_other(widget):
    widget.dtype = "float16"
    assert "float16" in widget.wait().answer(widget.result)["label"]
    widget.source = "recorded"
    assert widget.dtype == "float32"
    widget.dtype = "float64"
    assert widget.source == "h200"
    widget.source = "t4"
    assert widget.wait().dtype == "float32"
    with pytest.raises(traitlets.TraitError):
        widget.dtype = "int8"


def test_a_recorded_cpu_says_recorded_and_never_measured(widget, monkeypatch):
    recorded = Roofline("/cpu:0", "float32", 100e9, 10e9, "recorded", "AMD EPYC, 2 cores, 2026-11-21")
    monkeypatch.setattr(tracks, "roofline", lambda trace: recorded)
    widget.size, widget.source = 1024, "recorded"
    picture = widget.static()
    row = load_trace("epyc-2-cores").at(1024)
    assert f"{row.flops / row.compute / 1e9:.3g} GFLOP/s (recorded)" in picture.alt and "measured" not in picture.alt
    widget.op = "matrix + matrix"
    assert "Its own speed was not recorded" in widget.static().alt


def test_measuring_is_done_once_for_a_size_and_anew_when_asked(widget, measuring):
    widget.measure().wait()
    assert widget.source == "measured" and measuring == ["/cpu:0", ("matrix @ matrix", 256)]
    assert "25 GFLOP/s (measured)" in widget.static().alt and "a test's CPU" in widget.static().alt
    widget.size = 512
    widget.wait()
    widget.size = 256
    widget.wait()
    assert measuring == ["/cpu:0", ("matrix @ matrix", 256), ("matrix @ matrix", 512)]
    widget._heard(None, {"do": "measure", "with": []}, [])  # its button
    widget.wait()
    assert measuring[3:] == ["/cpu:0", ("matrix @ matrix", 256)]


def test_a_stopped_measurement_leaves_the_last_picture_and_no_thread(widget, measuring, monkeypatch):
    before, reached, go_on = widget.result, threading.Event(), threading.Event()

    def slow(device):
        reached.set()
        assert go_on.wait(60)
        return ROOF

    monkeypatch.setattr("course.widgets.roofline_explorer.roofline", slow)
    widget.measure()
    assert reached.wait(60)
    widget.stop()
    go_on.set()
    widget.wait(60)
    assert widget.result is before and measuring == []
    widget.close()
    assert not widget._thread.is_alive()
