"""What the stopwatches count, on a modelled clock where it is known."""

import pytest
import torch

from simgpu import simulated_gpus
from simgpu.recording.stopwatch import Stopwatch

LAUNCH, BANDWIDTH = 1e-5, 4.8e12  # of an H200's data sheet


@pytest.fixture
def watch():
    with simulated_gpus(1, "H200"):
        yield Stopwatch(torch.device("cuda", 0), limit=100.0, repeats=2, most=5)


def test_each_stopwatch_counts_what_it_says(watch):
    a, out = (torch.zeros(2**16, device="cuda") for _ in range(2))
    alone = 2 * a.nbytes / BANDWIDTH

    def op():
        torch.neg(a, out=out)

    assert watch.queued(op).median == pytest.approx(LAUNCH), "the launch, however long the op"
    assert watch.on_device(op, 5).median == pytest.approx(alone), "the op, however long the launch"
    assert watch.blocking(lambda: a.copy_(out.cpu())).median > LAUNCH + a.nbytes / 64e9
    assert watch.between_events(op).median == pytest.approx(LAUNCH + alone, abs=1.1e-6), "but for the event's own call"
    assert watch.ahead and watch.queued(op).repeats == 2 and watch.queued(op).iqr == pytest.approx(0, abs=1e-12)


def test_a_device_that_never_gets_done_is_given_up(watch, monkeypatch):
    monkeypatch.setattr(torch.cuda.Event, "query", lambda event: False)
    hurried = Stopwatch(torch.device("cuda", 0), limit=0.01, repeats=1, most=1)
    with pytest.raises(TimeoutError, match=r"calibrate: 0.01 s are over .* give more time: --seconds"):
        hurried.idle()


def test_a_host_that_never_gets_ahead_is_told_of(watch, monkeypatch):
    monkeypatch.setattr(torch.cuda.Event, "query", lambda event: True)
    monkeypatch.setattr("simgpu.recording.stopwatch._LARGEST", 2**21)
    watch.on_device(lambda: torch.zeros(1, device="cuda"), 3)
    assert not watch.ahead
