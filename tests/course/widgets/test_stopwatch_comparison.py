"""StopwatchComparison: its stopwatches read what a program's would on simulated GPUs; wrong is told from right."""

from contextlib import closing

import pytest
import torch

from course import simulated_gpus
from course.widgets import StopwatchComparison
from course.widgets.stopwatch_comparison import SIZES
from simgpu.clock.five_stopwatches import IN_A_ROW, NAMES, SET_UP, stopwatches

AT_ONCE, FIRST, COPIES, WAITED, EVENTS = NAMES


@pytest.fixture
def widget():
    made = StopwatchComparison()
    yield made
    made.close()


# The engine


@pytest.mark.parametrize("model", ["H200", "T4"])
@pytest.mark.parametrize("n", [16, 300])
def test_every_stopwatch_reads_what_the_same_program_reads_on_simulated_gpus(n, model):
    found = stopwatches(n, model)
    with simulated_gpus(1, model) as gpus:
        host = torch.rand(n, n), torch.rand(n, n)
        a, b = (one.cuda() for one in host)

        def seconds(program):
            torch.cuda.synchronize()
            start = gpus.clock.host
            program()
            return gpus.clock.host - start

        assert found.of(AT_ONCE).seconds == pytest.approx(seconds(lambda: a @ b))
        waited = seconds(lambda: (a @ b, torch.cuda.synchronize()))
        assert found.of(WAITED).seconds == pytest.approx(waited)
        assert found.of(FIRST).seconds == pytest.approx(SET_UP + waited)
        copied = seconds(lambda: (host[0].cuda() @ host[1].cuda()).cpu())
        assert found.of(COPIES).seconds == pytest.approx(copied)
        assert found.of(EVENTS).seconds == pytest.approx(between_events(lambda: a @ b, IN_A_ROW), rel=1e-3)


def between_events(program, calls):
    """Return seconds a call, by two events; torch counts milliseconds."""
    torch.cuda.synchronize()
    program()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        program()
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop) / 1000 / calls


@pytest.mark.parametrize("n", SIZES)
def test_a_right_stopwatch_reads_launch_or_product_and_never_less_than_the_work(n):
    found = stopwatches(n)
    events, waited = found.of(EVENTS), found.of(WAITED)
    assert events.seconds == pytest.approx(found.true, rel=0.02)
    assert found.true <= waited.seconds <= found.launch + found.work + 1e-12
    assert found.of(AT_ONCE).seconds == found.launch
    assert found.of(FIRST).seconds > SET_UP and found.of(COPIES).seconds > 3 * found.launch
    assert {reading.name for reading in found.readings if reading.right} == {WAITED, EVENTS}


def test_a_size_that_is_none_and_a_model_that_is_not_known_are_refused():
    with pytest.raises(ValueError, match="size=0"):
        stopwatches(0)
    with pytest.raises(ValueError, match="H9000"):
        stopwatches(16, "H9000")


# The widget


def test_what_is_shown_is_what_the_engine_read_and_says_that_it_is_modelled(widget):
    assert widget.result == stopwatches(1500)
    picture = widget.static()
    assert "read at once: 10.0 µs modelled" in picture.alt and 'class="wrong"' in picture.html
    assert "10 times too short" in picture.alt and "GPU has only accepted the work" in picture.alt
    assert "not measured" in picture.alt and "set-up of 0.2 s assumed" in picture.alt
    assert picture.html == StopwatchComparison().static().html and "<script" not in picture.html


@pytest.mark.long
@pytest.mark.parametrize("size", [SIZES[0], 1500, SIZES[-1]])
@pytest.mark.parametrize("watch", NAMES)
def test_every_stopwatch_has_a_picture_from_the_smallest_size_to_the_largest(size, watch):
    with closing(StopwatchComparison(size=size, watch=watch)) as widget:
        right = watch in (WAITED, EVENTS)
        assert f'class="{"ok" if right else "wrong"}"' in widget.static().html


def test_at_a_small_size_a_reading_is_right_by_accident_and_says_so(widget):
    widget.size = 64
    assert "within a tenth, by accident" in widget.static().alt and "10.0 µs of a launch" in widget.static().alt
    widget.watch = EVENTS
    assert "by accident" not in widget.static().alt


def test_every_size_on_every_model_lies_in_the_page_with_all_its_stopwatches(widget):
    stored = widget.stored()
    assert len(stored) == 2 * len(SIZES) and widget.data()["views"] == ["watch"]
    for settings, answer in stored:
        found = stopwatches(settings["size"], settings["model"])
        for reading, one in zip(found.readings, answer["readings"], strict=True):
            assert one["seconds"] == pytest.approx(1e6 * reading.seconds, rel=1e-6) and one["right"] == reading.right
            assert [span[:2] for span in one["spans"]] == [[span.lane, span.what] for span in reading.spans]
            assert one["read"] == pytest.approx([1e6 * moment for moment in reading.read], rel=1e-6)
