"""A copy in huge pages is a clone: the same tensor, and none of the same memory."""

import pytest
import torch

from course.training.checkpoint import large_copy
from course.training.checkpoint.large_copy import copied

MADE = {
    "large": torch.randn(3, 700_000),
    "large, of two bytes": torch.randn(3_000_000).bfloat16(),
    "large, of bools": torch.randn(5_000_000) > 0,
    "a parameter": torch.randn(2_000_000).requires_grad_(),
    "transposed": torch.randn(2000, 1000).T,
    "a part": torch.randn(3_000_000)[1_000_001:],
    "small": torch.randn(3, 4),
    "a number": torch.tensor(3.0),
    "nothing": torch.empty(0, 4),
    "on no device": torch.empty(2_000_000, device="meta"),
}


@pytest.mark.parametrize("name", MADE)
def test_a_copy_is_the_same_tensor_in_memory_of_its_own(name):
    tensor = MADE[name]
    copy = copied(tensor)
    assert (copy.shape, copy.dtype, copy.device, copy.requires_grad) == (
        tensor.shape,
        tensor.dtype,
        tensor.device,
        False,
    )
    if name != "on no device":
        assert torch.equal(copy, tensor) and copy.stride() == tensor.stride()
        kept = copy.clone()
        with torch.no_grad():
            tensor.copy_(~tensor if tensor.dtype == torch.bool else tensor + 1)
        assert torch.equal(copy, kept), "the copy changed with what it is of"


@pytest.mark.parametrize("lacks", ["huge pages", "memory"])
def test_where_there_are_no_huge_pages_it_is_a_clone(monkeypatch, lacks):
    def full(*_, **__):
        raise OSError(12, "Cannot allocate memory")

    if lacks == "huge pages":
        monkeypatch.setattr(large_copy, "_HUGE_PAGES", None)
    else:
        monkeypatch.setattr(large_copy.mmap, "mmap", full)
    assert torch.equal(copied(MADE["large"]), MADE["large"])
