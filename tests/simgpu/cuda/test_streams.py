"""Streams and events under simulated GPUs, as lessons use them: torch.cuda's names, modelled time, CUDA's errors."""

import pytest
import torch

from course import measure, simulated_gpus
from simgpu.models.device_model import DeviceModel

# 1 s to launch an op, 4 bytes a second in memory: times are small whole numbers
SLOW = DeviceModel(
    name="SLOW",
    hardware="a slow toy",
    memory=10**9,
    launch=1.0,
    peak={"float32": 1e12},
    memory_bandwidth=4.0,
    copy_bandwidth=4.0,
    copy_bandwidth_pageable=2.0,
    copy_latency=1.0,
    origin="made up for a test",
)


@pytest.fixture
def gpus():
    with simulated_gpus(2, model=SLOW) as gpus:
        yield gpus


def events():
    return [torch.cuda.Event(enable_timing=True) for _ in range(2)]


def test_events_time_the_work_between_them_in_modelled_milliseconds(gpus):
    x = torch.ones(8, device="cuda")
    torch.cuda.synchronize()
    start, end = events()
    start.record()
    y = x + 1  # reads 32 bytes, writes 32: 16 s on the device, after 1 s of launch
    end.record()
    assert not end.query() and start.query()
    torch.cuda.synchronize()
    assert end.query()
    assert start.elapsed_time(end) == pytest.approx(17_000, rel=1e-5)
    assert torch.equal(y.cpu(), torch.full((8,), 2.0))


def test_milliseconds_asked_for_the_wrong_way_round_are_negative_as_cudas_are(gpus):
    start, end = events()
    start.record()
    torch.ones(8, device="cuda").add_(1)
    end.record()
    torch.cuda.synchronize()
    elapsed = start.elapsed_time(end)
    assert elapsed > 1000 and end.elapsed_time(start) == -elapsed
    assert start.elapsed_time(start) == 0


def test_waiting_for_an_event_that_is_over_brings_nothing_forward(gpus):
    x = torch.ones(8, device="cuda")
    early = torch.cuda.current_stream().record_event()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x + 1
        side.wait_event(early)
        x + 1
    first, second = [span for span in gpus.clock.spans if span.stream == side.stream_id]
    assert second.start >= first.stop > first.start


def test_a_copys_seconds_in_the_log_are_those_of_its_bytes_and_its_way(gpus):
    from course import log_placement

    x = torch.ones(8)
    with log_placement() as log:
        copied = x.to("cuda:0")
        x.pin_memory().to("cuda:0")
        copied.to("cuda:1")
        copied.to("cpu")
    assert [r.seconds for r in log if r.op == "_to_copy"] == pytest.approx([1 + 16, 1 + 8, 1 + 8, 1 + 16])


def test_what_an_event_tells_says_that_it_is_modelled(gpus):
    start, end = events()
    start.record()
    end.record()
    end.synchronize()
    elapsed = start.elapsed_time(end)
    assert isinstance(elapsed, float) and f"{elapsed:.1f}" == "0.0"
    for text in (repr(elapsed), str(elapsed), f"{elapsed}", repr(start), repr(torch.cuda.Event())):
        assert "modelled: made up for a test" in text
    assert "simulated" in repr(torch.cuda.Stream())


def test_a_copy_on_its_own_stream_overlaps_with_work_and_a_pageable_one_does_not(gpus):
    x, batch = torch.ones(8, device="cuda"), torch.ones(16)
    copies = torch.cuda.Stream()
    took = {}
    for name, source in (("pinned", batch.pin_memory()), ("pageable", batch)):
        with gpus.clock.timed() as timed:
            with torch.cuda.stream(copies):
                source.to("cuda", non_blocking=True)
            x.add_(1)
        took[name] = timed.seconds
    assert took == pytest.approx({"pinned": 1 + 1 + 16, "pageable": 1 + 32 + 1 + 16})


def test_a_stream_that_waits_for_another_starts_after_it(gpus):
    x = torch.ones(8, device="cuda")
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x + 1
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        x + 1
        event = side.record_event()
    other = torch.cuda.Stream()
    other.wait_event(event)
    with other:
        assert torch.cuda.current_stream() == other
        x + 1
    first, second = [span for span in gpus.clock.spans if span.lane == "gpu:0 compute"][-2:]
    assert second.start == first.stop and (first.stream, second.stream) == (side.stream_id, other.stream_id)


def test_the_current_stream_is_what_it_was_after_the_block_and_after_an_error(gpus):
    default = torch.cuda.default_stream()
    assert torch.cuda.current_stream() == default and hash(torch.cuda.current_stream()) == hash(default)
    side = torch.cuda.Stream(device="cuda:1")
    with pytest.raises(KeyError), torch.cuda.stream(side):
        assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == side
        raise KeyError
    assert torch.cuda.current_device() == 0 and torch.cuda.current_stream() == default
    assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1) != default
    with torch.cuda.stream(None):
        assert torch.cuda.current_stream() == default


def test_synchronising_a_stream_waits_for_that_stream_alone(gpus):
    x = torch.ones(8, device="cuda")
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    before = gpus.clock.host
    x.add_(1)
    side.synchronize()
    assert side.query() and gpus.clock.host == pytest.approx(before + 1, abs=1e-4)
    torch.cuda.current_stream().synchronize()
    assert gpus.clock.host == pytest.approx(before + 17, abs=1e-4)


# CUDA's words: c10/cuda/CUDAEvent.h
@pytest.mark.parametrize(
    ("timing", "recorded", "error", "words"),
    [
        (False, True, ValueError, "Both events must be created with argument 'enable_timing=True'."),
        (True, False, ValueError, "Both events must be recorded before calculating elapsed time."),
        (True, True, RuntimeError, "Both events must be completed before calculating elapsed time."),
    ],
)
def test_elapsed_time_is_refused_in_cudas_words(gpus, timing, recorded, error, words):
    start, end = (torch.cuda.Event(enable_timing=timing) for _ in range(2))
    start.record()
    torch.ones(8, device="cuda")
    if recorded:
        end.record()
    with pytest.raises(error) as refused:
        start.elapsed_time(end)
    assert str(refused.value) == words


def test_an_event_belongs_to_the_device_it_was_first_recorded_on(gpus):
    event = torch.cuda.Event()
    event.record(torch.cuda.default_stream(0))
    with pytest.raises(RuntimeError, match="Event device 0 does not match recording stream's device 1."):
        event.record(torch.cuda.default_stream(1))


def test_a_mark_of_before_a_reset_counts_as_not_recorded(gpus):
    start, end = events()
    start.record()
    gpus.clock.reset()
    end.record()
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    assert "not recorded" in repr(start)


def test_an_invalid_device_and_events_between_processes_are_refused(gpus):
    with pytest.raises(RuntimeError, match="one process"):
        torch.cuda.Event(interprocess=True)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.cuda.Stream(device="cuda:7")


def test_a_stream_of_a_closed_simulation_is_refused():
    with simulated_gpus(1):
        old = torch.cuda.Stream()
    with simulated_gpus(1), pytest.raises(RuntimeError, match="was closed"):
        torch.cuda.set_stream(old)


def test_measuring_under_simulation_gives_modelled_seconds():
    with simulated_gpus(1) as gpus:
        a = torch.ones(256, 256, device="cuda")
        timing = measure(torch.mm, a, a)
        assert timing.median == pytest.approx(gpus.model.matmul(256).compute, rel=0.15)
        assert "modelled" in repr(timing) and "not measured" in repr(timing)


def test_a_copy_back_that_does_not_block_goes_to_pinned_memory_as_in_torch(gpus):
    x = torch.ones(8, device="cuda")
    torch.cuda.synchronize()
    with gpus.clock.timed() as blocking:
        assert not x.to("cpu").is_pinned()
    before = gpus.clock.host
    copied = x.to("cpu", non_blocking=True)
    assert gpus.clock.host - before == pytest.approx(1.0) and copied.is_pinned()
    assert blocking.seconds == pytest.approx(1 + 32 / 2)
