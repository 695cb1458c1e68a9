"""course.timing.roofline and its picture: two limits, the lower one counts, and where the figures come from is said."""

import dataclasses
from importlib import import_module

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course import draw, roofline, simulated_gpus
from course.timing import Point, Roofline, Timing
from course.traces import CopyTiming, OpTiming, load_trace

MODULE = import_module("course.timing.roofline")  # its function has taken the name in course.timing
above = st.floats(1e-3, 1e15)


@given(above, above, above)
def test_the_bound_is_the_lower_limit_and_the_ridge_is_where_they_meet(peak, bandwidth, intensity):
    roof = Roofline("/cpu:0", "float32", peak, bandwidth)
    assert roof.bound(intensity) <= peak and roof.bound(intensity) <= bandwidth * intensity
    assert roof.bound(intensity) in (peak, bandwidth * intensity)
    assert roof.bound(roof.ridge) == pytest.approx(peak)
    if roof.limit(intensity) == "arithmetic":
        assert roof.bound(intensity) == pytest.approx(peak)
    else:
        assert roof.bound(intensity) == pytest.approx(bandwidth * intensity)


def test_the_roof_of_a_data_sheet_is_modelled_and_a_simulated_gpu_has_the_same():
    sheet = load_trace("h200-data-sheet")
    roof = roofline(sheet, "bfloat16")
    assert (roof.peak, roof.bandwidth, roof.device) == (989e12, 4.8e12, "/gpu:0")
    assert roof.label == f"modelled: {sheet.origin}"
    with simulated_gpus(2):
        assert roofline("/gpu:1", "bfloat16") == dataclasses.replace(roof, device="/gpu:1")
    with pytest.raises(ValueError, match="has figures of float64, float32"):
        roofline(sheet, "int8")


def test_the_roof_of_a_trace_is_its_fastest_product_and_its_largest_arrays():
    trace = load_trace("epyc-2-cores")
    ops = (
        OpTiming("add", 10, "/cpu:0", 1e-9, 10, 120),  # 120 GB/s: from a cache
        OpTiming("add", 10**7, "/cpu:0", 12e-3, 10**7, 12 * 10**7),
        OpTiming("exp", 10**7, "/cpu:0", 20e-3, 10**7, 8 * 10**7),
    )
    roof = roofline(dataclasses.replace(trace, ops=ops, copies=()))
    assert roof.bandwidth == pytest.approx(1e10) and roof.label == f"recorded: {trace.origin}"
    assert roof.peak == max(t.flops / t.compute for t in trace.matmul if t.dtype == "float32")
    copy = CopyTiming("in memory", "pageable", 10**9, "/cpu:0", 0.1)
    assert roofline(dataclasses.replace(trace, ops=ops, copies=(copy,))).bandwidth == pytest.approx(2e10)
    with pytest.raises(ValueError, match="0 rows of memory, and needs both"):
        roofline(dataclasses.replace(trace, ops=(), copies=()))


def test_the_measured_roof_takes_the_fastest_repeats_of_torchs_own_product_and_counts_three_arrays(monkeypatch):
    calls = []

    def pretend(fn, *args, device=None, seconds=None):
        fn(*args)
        calls.append((fn, [tuple(a.shape) for a in args]))
        return Timing((0.5, 1.0, 3.0), 9.0, 1, "/cpu:0")

    monkeypatch.setattr(MODULE, "measure", pretend)
    monkeypatch.setattr(MODULE, "_sizes", lambda place: (8, 16))
    roof = roofline()
    assert calls[:2] == [(torch.mm, [(8, 8)] * 2), (torch.mm, [(16, 16)] * 2)] and calls[2][1] == []
    assert roof.peak == 2 * 16**3 / 0.5 and roof.bandwidth == 3 * 64 * 2**20 / 0.5
    assert roof.kind == "measured" and roof.origin and roof.device == "/cpu:0"


def test_a_roof_that_cannot_be_measured_is_refused():
    for wrong, words in [("/gpu:99", "not on this machine"), ("roof", "grammar")]:
        with pytest.raises(ValueError, match=words):
            roofline(wrong)
    with pytest.raises(ValueError, match="no such numbers"):
        roofline(dtype="int64")


def test_a_point_has_its_timings_speed_and_kind():
    timing = Timing((2.0,), 3.0, 1, "/gpu:0", "modelled", "a sheet")
    assert Point.of("sum", timing, flops=100, nbytes=400) == Point("sum", 0.25, 50.0, "modelled", "a sheet")


# The picture


ROOF = Roofline("/cpu:0", "float32", 100e9, 20e9, "measured", "a CPU, 2 cores")
POINTS = [Point("sum", 0.25, 4e9), Point("product", 250, 80e9)]


def test_the_title_states_the_finding_and_the_picture_says_every_figure_in_words():
    shown = draw.roofline(ROOF, POINTS)
    for words in (
        "Memory is the limit of 1 of 2 ops",
        "measured: a CPU, 2 cores",
        "sum 0.25 operations a byte, 4 GFLOP/s",
    ):
        assert words in shown.alt
    for text in ("sum", "product", "GFLOP/s", "memory: 20 GB/s", "ridge: 5", "operations a byte"):
        assert text in shown.html
    assert "stroke-dasharray: 7" not in shown.html.replace("7.4", "7")  # solid: measured here


def test_what_was_not_measured_here_is_dashed_hollow_and_named():
    roof = dataclasses.replace(ROOF, device="/gpu:0", kind="modelled", origin="a sheet, not measured")
    shown = draw.roofline(roof, [dataclasses.replace(p, kind="modelled", origin=roof.origin) for p in POINTS])
    assert "(modelled)" in shown.alt and "modelled: a sheet, not measured" in shown.alt
    assert "sum (modelled)" in shown.html and "modelled: a sheet, not measured" in shown.html
    assert "stroke-dasharray: 7.4" in shown.html
    assert "Below 5 operations a byte, memory is the limit (modelled)" in draw.roofline(roof).alt


@pytest.mark.long
@settings(max_examples=4)
@given(st.lists(st.builds(Point, st.just("x"), above, above), max_size=3), above, above)
def test_any_roof_and_points_can_be_drawn(points, peak, bandwidth):
    assert "<svg" in draw.roofline(Roofline("/cpu:0", "float32", peak, bandwidth), points).html
