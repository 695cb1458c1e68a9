"""Sequences of different lengths on simulated GPUs: packed, run through a recurrent network and padded again."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from simgpu import simulated_gpus


def program(device, lengths, batch_first, total):
    values = torch.arange(len(lengths) * max(lengths) * 2.0).reshape(len(lengths), max(lengths), 2)
    values = (values if batch_first else values.transpose(0, 1).contiguous()).to(device).requires_grad_()
    packed = pack_padded_sequence(values, torch.tensor(lengths), batch_first=batch_first, enforce_sorted=False)
    padded, lengths_back = pad_packed_sequence(packed, batch_first=batch_first, padding_value=-7, total_length=total)
    (padded * padded).sum().backward()
    return packed.data, packed.batch_sizes, padded, lengths_back, values.grad


@settings(max_examples=25)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.booleans(), st.sampled_from([None, 6]))
def test_packing_and_padding_give_the_cpus_numbers_and_keep_lengths_on_the_cpu(lengths, batch_first, total):
    expected = program("cpu", lengths, batch_first, total)
    with simulated_gpus(2):
        simulated = program("cuda:1", lengths, batch_first, total)
        assert [str(tensor.device) for tensor in simulated] == ["cuda:1", "cpu", "cuda:1", "cpu", "cuda:1"]
        for actual, wanted in zip(simulated, expected, strict=True):
            assert torch.equal(actual.cpu(), wanted)


def test_lengths_on_the_gpu_are_refused():
    with simulated_gpus(1), pytest.raises(RuntimeError, match="'lengths' argument should be a 1D CPU int64 tensor"):
        values = torch.ones(2, 3, 1, device="cuda")
        torch._VF._pack_padded_sequence(values, torch.tensor([3, 2], device="cuda"), True)
