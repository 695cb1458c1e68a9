"""500 random calls with odd arguments: the interpreter lives, nothing hangs, simgpu's own code doesn't fail."""

import pytest
import torch

from simgpu import simulated_gpus
from simgpu.ops import dispatch
from tests.slow.conformance.fuzz import run
from tests.slow.conformance.fuzz.batch import fault_of


@pytest.mark.timeout(1800)  # half a minute of one core, which may be busy
def test_five_hundred_calls_end_in_a_result_or_a_meant_error():
    found = run.fuzz(seed=11, first=0, count=500, batch=500, say=print)
    assert found.bad == []
    assert found.counts["made"] > 50 and found.counts["refused"] > 100


def test_a_process_that_dies_is_brought_back_to_its_call(monkeypatch):
    """The comparison's own check: a stand-in for a batch dies at call 7, on simulated GPUs alone."""

    def stand_in(seed, first, count, close, where="simulated"):
        dies = where == "simulated" and first <= 7 < first + count
        return run.Ended(7 if dies else first + count - 1, "exit -11" if dies else "", [{"done": {"made": count}}])

    monkeypatch.setattr(run, "run", stand_in)
    found = run.fuzz(seed=1, first=0, count=20, batch=10, say=print)
    assert found.bad == ["call 7: exit -11; again with --first 7 --count 1"]


def test_an_error_of_simgpus_own_code_is_a_fault_and_a_meant_one_is_not(monkeypatch):
    with simulated_gpus(1):
        x = torch.ones(2, device="cuda")
        with pytest.raises(TypeError) as meant:
            x.numpy()
        monkeypatch.setattr(dispatch, "plan_of", lambda func: None)
        monkeypatch.setattr(dispatch, "_PLANS", {})
        with pytest.raises(AttributeError) as broken:
            x.exp()
    assert not fault_of(meant.value) and "'NoneType' object has no attribute" in fault_of(broken.value)
