"""3,000 random calls with odd arguments: the interpreter lives, nothing hangs, simgpu's own code doesn't fail."""

import ctypes
import os
import signal
import subprocess
import sys

import pytest
import torch

from simgpu import simulated_gpus
from simgpu.ops import dispatch
from tests.slow.conformance.fuzz import run
from tests.slow.conformance.fuzz.batch import fault_of
from tests.slow.conformance.fuzz.harmful import harm_of

#: It writes one byte past a block of the heap, and frees the block.
PAST_THE_END = """
import ctypes

block = ctypes.create_string_buffer(1000)
ctypes.memset(ctypes.addressof(block) + 1000, 0, 1)
del block
"""

#: A call that computes without end, with a shorter limit than that of a batch.
ENDLESS = """
from tests.slow.conformance.fuzz import batch

batch.LONGEST = 0.5
batch.say_where_it_hangs()
batch.begin(7, bytearray(8))
while True:
    pass
"""


@pytest.mark.timeout(3600)  # a quarter of a minute of one core, which may be busy
def test_three_thousand_calls_end_in_a_result_or_a_meant_error():
    finds = run.fuzz(seed=11, first=0, count=3000, batch=3000, say=print)
    assert finds.bad == []
    assert finds.counts["made"] > 500 and finds.counts["refused"] > 1000


def test_a_byte_written_past_a_block_of_the_heap_ends_a_batch():
    try:
        ctypes.CDLL(run.GUARDS["LD_PRELOAD"])
    except OSError:
        pytest.skip("glibc's libc_malloc_debug isn't here: harm to the heap is found when the process dies of it")
    ended = subprocess.run([sys.executable, "-c", PAST_THE_END], env={**os.environ, **run.GUARDS}, capture_output=True)
    assert ended.returncode == -6, ended.stderr


def test_a_call_without_end_ends_a_batch_by_the_processors_time():
    ended = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGPROF and "in <module>" in ended.stderr, ended.stderr


def test_what_harms_torch_alone_is_left_out_by_its_arguments():
    factors, pivots = torch.ones(3, 5), torch.ones(3, dtype=torch.int32)
    assert harm_of("torch.lu_unpack", [factors, pivots[:, None]], {})
    assert not harm_of("torch.lu_unpack", [factors, pivots], {})
    assert harm_of("torch.native_batch_norm", [factors, torch.ones(1)], {})
    assert not harm_of("torch.native_batch_norm", [factors, torch.ones(5)], {})
    assert harm_of("linalg.matrix_power", [factors, [-(2**63)]], {}) and not harm_of(
        "torch.add", [factors, -(2**63)], {}
    )


def test_a_process_that_dies_is_brought_back_to_its_call(monkeypatch):
    """The comparison's own check: a stand-in for a batch dies at call 7, on simulated GPUs alone."""

    def stand_in(seed, first, count, close, where="simulated"):
        dies = where == "simulated" and first <= 7 < first + count
        return run.Ended(7 if dies else first + count - 1, "exit -11" if dies else "", [{"done": {"made": count}}])

    monkeypatch.setattr(run, "run", stand_in)
    finds = run.fuzz(seed=1, first=0, count=20, batch=10, say=print)
    assert finds.bad == ["call 7: exit -11; again with --first 7 --count 1"]


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
