"""The modelled clock: who is busy until when, by its rules; and what shows it."""

import re
import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgpu import model_for
from simgpu.clock.engine import Engine, common_gap
from simgpu.clock.modelled_clock import CALL, ModelledClock
from simgpu.models.device_model import DeviceModel
from simgpu.models.op_seconds import Work

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


MOMENTS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["run", "mark", "hold", "wait", "passed", "synchronize"])),
    max_size=25,
)


@settings(max_examples=100)
@given(MOMENTS, st.data())
def test_no_time_goes_back_whatever_streams_and_host_wait_for(steps, data):
    clock = clock_of()
    streams, marks = [clock.new_stream(0) for _ in range(3)], [0.0]
    for number, step in steps:
        stream = streams[number]
        before = [clock.host, *(queue.ready for queue in streams)]
        if step == "run":
            clock.use_stream(stream)
            clock.run(0, FIVE_SECONDS)
        elif step == "mark":
            marks.append(clock.mark(stream))
        elif step == "hold":
            clock.hold(stream, data.draw(st.sampled_from(marks)))
        elif step == "synchronize":
            clock.synchronize(0)
        else:
            getattr(clock, step)(data.draw(st.sampled_from(marks)))
        after = [clock.host, *(queue.ready for queue in streams)]
        assert all(later >= earlier for later, earlier in zip(after, before, strict=True)), step


@pytest.mark.parametrize(
    ("source", "target", "pinned", "seconds"),
    [
        (None, 0, True, 10.0),
        (None, 0, False, 20.0),
        (0, None, True, 10.0),
        (0, None, False, 20.0),
        (0, 1, False, 10.0),
        (1, 1, False, 2.0),
    ],
)
def test_what_a_copy_takes_is_returned_booked_and_drawn(source, target, pinned, seconds):
    clock = clock_of(2)
    assert clock.copy(source, target, 100, pinned=pinned) == seconds
    assert clock.last.seconds == TOY.copy_latency + seconds
    copies = [span for span in clock.spans if span.what == "copy"]
    assert copies and all(span.stop - span.start == seconds and span.start == TOY.copy_latency for span in copies)
    if None in (source, target):
        assert TOY.copy_seconds(100, pinned) == TOY.copy_latency + seconds == clock.host


def test_a_copy_between_devices_takes_both_streams_and_both_ways():
    clock = clock_of(2)
    clock.run(0, FIVE_SECONDS)
    clock.copy(0, 1, 100)
    clock.run(1, FIVE_SECONDS)
    assert clock.host == 4.0  # nobody on the host waits
    assert on_lane(clock, "gpu:0 copy out") == on_lane(clock, "gpu:1 copy in") == [(6.0, 16.0)]
    assert on_lane(clock, "gpu:1 compute") == [(16.0, 21.0)]


def test_asking_whether_work_is_done_takes_time_so_that_asking_again_ends():
    clock = clock_of()
    clock.run(0, Work(flops=1e-4))
    done, questions = clock.current_stream(0).ready, 0
    while not clock.passed(done):
        questions += 1
    assert questions == pytest.approx(1e-5 / CALL, abs=2)


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
    streams = []

    def work():
        streams.append(clock.current_stream(0))
        for _ in range(200):
            clock.run(0, FIVE_SECONDS)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert streams == [clock.default_stream(0)] * 4 and clock.current_stream(0) is mine
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
    for text in (repr(timed), repr(clock), repr(clock.model), repr(timed.picture("One op"))):
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
    title, host, copies, label = repr(picture).splitlines()
    assert title == "A copy" and label.startswith("22.0 s, modelled: made up for a test: ")
    assert re.fullmatch(r"host {12}\|{6}\.{66}", host)
    assert re.fullmatch(r"gpu:0 copy in {9}={66}", copies)
