"""Ops that conjugate lazily inside give the CPU's numbers: torch's step that heeds the bit is on where they run."""

import pytest
import torch

from simgpu import simulated_gpus

CALLS = {
    "pinv": torch.linalg.pinv,
    "pinverse": torch.pinverse,
    "pinv of a hermitian": lambda x: torch.linalg.pinv(x @ x.mH, hermitian=True),
    "conjugate": lambda x: x.mH @ x.conj() + x.imag.conj(),
    "negative": lambda x: x.conj().imag * 2,
}


@pytest.mark.parametrize("name", CALLS)
def test_complex_numbers_are_the_cpus(name):
    x = torch.randn(4, 3, 3, dtype=torch.complex64, generator=torch.Generator().manual_seed(1))
    with simulated_gpus(1):
        for _ in range(2):  # the second time by the short way, if there is one
            assert torch.allclose(CALLS[name](x), CALLS[name](x.cuda()).cpu(), atol=1e-4)
