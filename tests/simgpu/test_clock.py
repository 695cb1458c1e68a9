"""The modelled clock: who is busy until when, by its rules; and the models it runs on, fitted to traces."""

import math
import re
import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.traces import CopyTiming, MatmulTiming, OpTiming, Trace, load_trace
from simgpu.calibration import calibrate, errors
from simgpu.clock import CALL, ModelledClock
from simgpu.engine import Engine, common_gap
from simgpu.models import DeviceModel, Work, model_for

TOY = DeviceModel(
    name="TOY",
    hardware="a toy",
    memory=10**9,
    launch=1.0,
    peak={"float32": 10.0, "bfloat16": 100.0},
    memory_bandwidth=100.0,
    copy_bandwidth=10.0,
    copy_bandwidth_pageable=5.0,
    copy_latency=2.0,
    origin="made up for a test",
)
FIVE_SECONDS = Work(flops=50)


def clock_of(count=1):
    return ModelledClock(TOY, count)


def on_lane(clock, lane):
    return [(span.start, span.stop) for span in clock.spans if span.lane == lane]


def test_an_op_is_accepted_after_a_launch_and_done_when_the_device_is():
    clock = clock_of()
    assert clock.run(0, FIVE_SECONDS) == 5.0
    assert clock.host == 1.0  # accepted, not done: what the naive stopwatch reads
    clock.synchronize()
    assert clock.host == 6.0


def test_a_device_does_one_op_after_the_other_and_the_host_runs_ahead():
    clock = clock_of()
    for _ in range(3):
        clock.run(0, FIVE_SECONDS)
    assert clock.host == 3.0
    assert on_lane(clock, "gpu:0 compute") == [(1.0, 6.0), (6.0, 11.0), (11.0, 16.0)]


def test_short_ops_are_as_slow_as_the_host_launches_them():
    clock = clock_of()
    with clock.timed() as timed:
        for _ in range(10):
            clock.run(0, Work(flops=1))
    assert timed.seconds == pytest.approx(10 * 1.0 + 0.1)


def test_an_op_takes_the_longer_of_its_arithmetic_and_its_bytes():
    assert TOY.seconds(Work(flops=50, bytes=100)) == 5.0
    assert TOY.seconds(Work(flops=50, bytes=1000)) == 10.0
    assert TOY.seconds(Work(flops=50, dtype="bfloat16")) == 0.5
    assert TOY.seconds(Work(flops=50, dtype="int64")) == 5.0  # what the model does not list runs like float32
    assert TOY.seconds(Work(flops=50, dtype="float64")) == 160.0


def test_a_product_of_the_half_size_reaches_half_of_the_peak():
    model = replace(TOY, half_size={"float32": 8.0})
    assert model.seconds(Work(flops=2 * 8**3)) == pytest.approx(2 * TOY.seconds(Work(flops=2 * 8**3)))
    assert model.seconds(Work(flops=2 * 800**3)) == pytest.approx(1.01 * TOY.seconds(Work(flops=2 * 800**3)))


def test_a_view_costs_nobody_anything():
    clock = clock_of()
    clock.run(0, Work(0, 0))
    clock.copy(None, 0, 0)
    clock.copy(None, None, 100)
    assert clock.host == 0.0 and clock.spans == []


def test_two_devices_work_at_the_same_time():
    clock = clock_of(2)
    with clock.timed() as timed:
        clock.run(0, FIVE_SECONDS)
        clock.run(1, FIVE_SECONDS)
    assert timed.seconds == 7.0  # two launches, then the second's five seconds


def test_waiting_for_one_device_does_not_wait_for_another():
    clock = clock_of(2)
    clock.run(0, Work(flops=1000))
    clock.run(1, FIVE_SECONDS)
    clock.synchronize(1)
    assert clock.host == 7.0


@pytest.mark.parametrize(
    ("pinned", "blocking", "host", "done"),
    [(False, True, 22.0, 22.0), (False, False, 22.0, 22.0), (True, True, 12.0, 12.0), (True, False, 2.0, 12.0)],
)
def test_only_a_pinned_copy_that_does_not_block_lets_the_host_go_on(pinned, blocking, host, done):
    for source, target in ((None, 0), (0, None)):
        clock = clock_of()
        clock.copy(source, target, 100, pinned=pinned, blocking=blocking)
        assert clock.host == host
        clock.synchronize()
        assert clock.host == done


def test_a_copy_and_an_op_of_one_stream_follow_each_other_those_of_two_overlap():
    clock = clock_of()
    clock.copy(None, 0, 100, pinned=True, blocking=False)
    clock.run(0, FIVE_SECONDS)
    assert on_lane(clock, "gpu:0 compute") == [(12.0, 17.0)]

    clock = clock_of()
    clock.copy(None, 0, 100, pinned=True, blocking=False)
    clock.use_stream(clock.new_stream(0))
    clock.run(0, FIVE_SECONDS)
    assert on_lane(clock, "gpu:0 compute") == [(3.0, 8.0)]


def test_copies_in_opposite_directions_overlap_copies_in_one_take_turns():
    clock = clock_of()
    for source, target in ((None, 0), (0, None), (None, 0)):
        clock.use_stream(clock.new_stream(0))
        clock.copy(source, target, 100, pinned=True, blocking=False)
    assert on_lane(clock, "gpu:0 copy in") == [(2.0, 12.0), (12.0, 22.0)]
    assert on_lane(clock, "gpu:0 copy out") == [(4.0, 14.0)]


def test_two_compute_streams_make_a_device_no_faster():
    clock = clock_of()
    with clock.timed() as timed:
        for _ in range(2):
            clock.use_stream(clock.new_stream(0))
            clock.run(0, FIVE_SECONDS)
    assert timed.seconds == 11.0


def test_a_stream_that_waits_does_not_hold_up_another_one():
    clock = clock_of()
    late, early = clock.new_stream(0), clock.new_stream(0)
    clock.hold(late, 100.0)
    clock.use_stream(late)
    clock.run(0, FIVE_SECONDS)
    clock.use_stream(early)
    clock.run(0, FIVE_SECONDS)  # handed over second, done first: the engine is idle until then
    assert on_lane(clock, "gpu:0 compute") == [(100.0, 105.0), (2.0, 7.0)]


def test_a_copy_between_devices_takes_both_streams_and_both_ways():
    clock = clock_of(2)
    clock.run(0, FIVE_SECONDS)
    clock.copy(0, 1, 100)
    clock.run(1, FIVE_SECONDS)
    assert clock.host == 4.0  # nobody on the host waits
    assert on_lane(clock, "gpu:0 copy out") == on_lane(clock, "gpu:1 copy in") == [(6.0, 16.0)]
    assert on_lane(clock, "gpu:1 compute") == [(16.0, 21.0)]


def test_a_copy_within_a_device_reads_and_writes_its_memory():
    clock = clock_of()
    assert clock.copy(0, 0, 100) == 2.0
    assert on_lane(clock, "gpu:0 compute") == [(2.0, 4.0)]


def test_asking_whether_work_is_done_takes_time_so_that_asking_again_ends():
    clock = clock_of()
    clock.run(0, Work(flops=1e-4))
    done, asked = clock.current_stream(0).ready, 0
    while not clock.passed(done):
        asked += 1
    assert asked == pytest.approx(1e-5 / CALL, abs=2)


def test_a_reset_clock_starts_at_zero_with_idle_devices():
    clock = clock_of()
    stream = clock.new_stream(0)
    clock.use_stream(stream)
    clock.run(0, FIVE_SECONDS)
    clock.reset()
    assert (clock.host, clock.spans, stream.ready) == (0.0, [], 0.0)
    clock.run(0, FIVE_SECONDS)
    assert on_lane(clock, "gpu:0 compute") == [(1.0, 6.0)]


def test_each_thread_has_its_own_current_stream_and_all_share_the_host():
    clock = clock_of()
    mine = clock.new_stream(0)
    clock.use_stream(mine)
    seen = []

    def work():
        seen.append(clock.current_stream(0))
        for _ in range(200):
            clock.run(0, FIVE_SECONDS)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == [clock.default_stream(0)] * 4 and clock.current_stream(0) is mine
    clock.synchronize()
    assert clock.host == 1.0 + 800 * 5.0


def test_the_past_does_not_fill_the_memory():
    clock = clock_of()
    for _ in range(11_000):
        clock.run(0, FIVE_SECONDS)
    assert len(clock.spans) == 20_000
    assert len(clock._engines[0]["compute"]._taken) == 1


JOBS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["run", "in", "out"]), st.integers(1, 40), st.booleans()), max_size=25
)


@settings(max_examples=150)
@given(JOBS)
def test_nothing_is_done_twice_at_once_out_of_order_or_before_it_was_handed_over(jobs):
    clock = clock_of()
    streams = [clock.new_stream(0) for _ in range(3)]
    for stream, job, size, blocking in jobs:
        clock.use_stream(streams[stream])
        before = clock.host
        if job == "run":
            clock.run(0, Work(flops=size))
        else:
            ends = (None, 0) if job == "in" else (0, None)
            clock.copy(*ends, size, pinned=True, blocking=blocking)
        last = [span for span in clock.spans if span.what in ("work", "copy")][-1]
        assert last.start >= before
    for lane in {span.lane for span in clock.spans}:
        spans = sorted(on_lane(clock, lane))
        assert all(a[1] <= b[0] + 1e-9 for a, b in zip(spans, spans[1:], strict=False)), lane
    for stream in streams:
        spans = [(s.start, s.stop) for s in clock.spans if s.stream == stream.number]
        assert all(a[1] <= b[0] + 1e-9 for a, b in zip(spans, spans[1:], strict=False))
    clock.synchronize()
    assert clock.host >= max((span.stop for span in clock.spans), default=0.0)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=20))
def test_an_engine_finds_the_first_gap_that_a_slow_search_finds(wishes):
    engine, busy = Engine("x"), set()
    for earliest, seconds in wishes:
        slow = next(t for t in range(earliest, 1000) if busy.isdisjoint(range(t, t + seconds)))
        start = common_gap([engine], earliest, seconds)
        assert start == slow
        engine.book(start, seconds)
        busy |= set(range(start, start + seconds))


def test_whatever_shows_modelled_seconds_says_so_and_after_what():
    clock = ModelledClock(model_for("H200"))
    with clock.timed() as timed:
        clock.run(0, Work(flops=67e9))
    for text in (repr(timed), repr(clock), repr(clock.model), repr(timed.picture("One op")), timed.picture("x").html):
        assert "modelled: NVIDIA H200 SXM data sheet, not measured" in text
    assert repr(timed).startswith("1.01 ms")


def test_an_exception_ends_the_timed_stretch_too():
    clock = clock_of()
    with pytest.raises(KeyError), clock.timed() as timed:
        clock.run(0, FIVE_SECONDS)
        raise KeyError
    assert timed.seconds == 6.0


def test_a_picture_shows_the_stretch_asked_for():
    clock = clock_of()
    clock.run(0, FIVE_SECONDS, "earlier")
    with clock.timed() as timed:
        clock.copy(None, 0, 100, name="in")
    picture = timed.picture("A copy")
    assert "GPU:0 copy in" in picture.html and "earlier" not in picture.html
    assert re.search(r"A copy\. \d spans on 2 lanes over 22 s, modelled: made up", picture.alt)


@pytest.mark.parametrize("name", ["H200", "T4", "h200-data-sheet"])
def test_a_data_sheet_and_its_model_give_the_same_product(name):
    model = model_for(name)
    sheet = load_trace(f"{name.lower().removesuffix('-data-sheet')}-data-sheet")
    assert "data sheet, not measured" in model.label
    for size in (16, 1000, 8192):
        assert model.matmul(size) == sheet.matmul(size)
    assert model_for(sheet) == model and model_for(model) is model


def test_the_clock_agrees_with_the_model_on_products_in_a_row():
    model = model_for("T4")
    for size in (64, 2048):
        clock = ModelledClock(model)
        work = Work(2 * size**3, 12 * size**2)
        with clock.timed() as timed:
            for _ in range(1000):
                clock.run(0, work)
        assert timed.seconds / 1000 == pytest.approx(model.matmul(size).compute, rel=0.01)
        with clock.timed() as timed:
            clock.copy(None, 0, 4 * size**2)
        assert timed.seconds == pytest.approx(model.matmul(size).from_device)


def test_an_unknown_model_is_refused_with_the_legal_ones():
    with pytest.raises(ValueError, match=r"model='H100'.*Use H200, T4 \(data sheets\), epyc-2-cores \(recorded\)"):
        model_for("H100")
    with pytest.raises(TypeError, match="give a name such as 'H200'"):
        model_for(7)


def test_the_recorded_cpu_is_modelled_within_a_quarter_from_256_on():
    trace = load_trace("epyc-2-cores")
    model = model_for("epyc-2-cores")
    fit = errors(model, trace)
    assert abs(fit.largest.relative) <= 0.25
    assert "fitted to a trace recorded on AMD EPYC" in model.label and trace.date in repr(fit)
    assert len(fit) == len(trace.matmul) + len(trace.copies) + len(trace.ops)
    assert re.search(
        r"Largest error of products from 256 on and of copies: [+-]\d+% \(product float\d\d \d+\)", repr(fit)
    )
    assert "recorded on" in fit._repr_mimebundle_()["text/html"]


SPEEDS = {"launch": (2e-6, 2e-5), "peak": (3e11, 1e15), "half": (1.0, 1500.0), "bandwidth": (1e11, 8e12)}
MACHINES = st.fixed_dictionaries(
    {
        **{name: st.floats(math.log(low), math.log(high)).map(math.exp) for name, (low, high) in SPEEDS.items()},
        "latency": st.floats(1e-6, 3e-5),
        "pinned": st.floats(5e9, 6e10),
        "staging": st.floats(0.2, 0.9),
        "noise": st.lists(st.floats(-0.08, 0.08), min_size=60, max_size=60),
    }
)


def recorded(machine):
    """The trace that a stopwatch would write of a made-up machine, each row off by its noise."""
    model = DeviceModel(
        name="made-up",
        hardware="a made-up GPU",
        memory=1,
        launch=machine["launch"],
        peak={"float32": machine["peak"], "bfloat16": 4 * machine["peak"]},
        half_size={"float32": machine["half"], "bfloat16": 2 * machine["half"]},
        memory_bandwidth=machine["bandwidth"],
        copy_bandwidth=machine["pinned"],
        copy_bandwidth_pageable=machine["pinned"] * machine["staging"],
        copy_latency=machine["latency"],
        origin="made up",
    )
    off = iter(machine["noise"])
    sizes = (256, 384, 512, 768, 1024, 1500, 2048, 3000, 4096, 8192)
    products = [
        MatmulTiming(n, "/gpu:0", model.matmul(n, dtype).compute * (1 + next(off)), dtype=dtype)
        for dtype in ("float32", "bfloat16")
        for n in sizes
    ]
    copies = [
        CopyTiming(way, memory, size, "/gpu:0", model.copy_seconds(size, memory == "pinned") * (1 + next(off)))
        for way in ("to device", "from device")
        for memory in ("pageable", "pinned")
        for size in (10**3, 10**5, 10**6, 10**7, 10**8, 10**9)
    ]
    ops = [
        OpTiming("add", n, "/gpu:0", max(model.launch, 12 * n / model.memory_bandwidth) * (1 + next(off)), n, 12 * n)
        for n in (10**3, 10**8, 2 * 10**8)
    ]
    return model, Trace(
        "made-up", "a made-up GPU", "1", {}, "2026-01-01", "", tuple(products), tuple(copies), tuple(ops)
    )


@settings(max_examples=25)
@given(MACHINES)
def test_a_machine_of_the_models_form_is_found_again_within_a_quarter(machine):
    true, trace = recorded(machine)
    fitted = calibrate(trace)
    assert abs(errors(fitted, trace).largest.relative) <= 0.25
    assert fitted.memory_bandwidth == pytest.approx(true.memory_bandwidth, rel=0.1)
    assert fitted.copy_bandwidth == pytest.approx(true.copy_bandwidth, rel=0.25)
    assert fitted.copy_seconds(10**7) == pytest.approx(true.copy_seconds(10**7), rel=0.25)


def test_a_wrong_model_is_told_from_a_right_one():
    true, trace = recorded({
        "launch": 5e-6, "peak": 5e13, "half": 200.0, "bandwidth": 3e12, "latency": 8e-6, "pinned": 5e10,
        "staging": 0.3, "noise": [0.0] * 60,
    })  # fmt: skip
    assert abs(errors(true, trace).largest.relative) < 1e-9
    assert abs(errors(calibrate(trace), trace).largest.relative) < 0.05
    assert errors(model_for("T4"), trace).largest.relative > 1
    assert "made-up" in repr(errors(true, trace)) and "recorded on" in repr(errors(true, trace))


def test_a_trace_without_products_in_float32_cannot_be_fitted():
    trace = Trace("t", "h", "", {}, "2026-01-01", "", (MatmulTiming(8, "/cpu:0", 1.0, dtype="float64"),))
    with pytest.raises(ValueError, match="no float32 products"):
        calibrate(trace)


def test_what_a_trace_does_not_tell_is_listed_as_assumed():
    rows = tuple(MatmulTiming(n, "/cpu:0", 2 * n**3 / 1e11) for n in (256, 512, 1024))
    model = calibrate(Trace("t", "h", "", {}, "2026-01-01", "", rows))
    words = " ".join(model.assumed)
    assert "memory bandwidth" in words and "copies" in words and "launch" in words and "memory: 16 GiB" in words
    assert model.peak["float32"] == pytest.approx(1e11, rel=0.01)
