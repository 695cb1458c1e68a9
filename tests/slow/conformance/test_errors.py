"""What goes wrong on CUDA goes wrong under `simulated_gpus`, with CUDA's words (`wrong_programs` says where from)."""

import re

import pytest
import torch

from course import simulated_gpus
from tests.slow.conformance.test_programs import NO_CUDA
from tests.slow.conformance.wrong_programs import SAME, WRONG

of_all = pytest.mark.parametrize("wrong", WRONG, ids=[w.name for w in WRONG])


def failure_of(wrong):
    """Return the exception that the program raises; fail if it raises none."""
    try:
        result = wrong.program(*wrong.devices)
    except Exception as error:
        return error
    pytest.fail(f"no error: it returned {result!r}")


@of_all
def test_a_wrong_program_fails_with_cudas_words(wrong):
    with simulated_gpus(4):
        error = failure_of(wrong)
        check(wrong, error)
        assert torch.zeros(2, device="cuda:1").sum().item() == 0  # and nothing is left in disorder


@pytest.mark.skipif(torch.cuda.device_count() < 4, reason=f"fewer than 4 CUDA devices; {NO_CUDA}")
def test_cuda_itself_says_so():
    for wrong in WRONG:
        check(wrong, failure_of(wrong))


def check(wrong, error):
    assert isinstance(error, wrong.error), f"{type(error).__name__} for {wrong.error.__name__}: {error}"
    assert re.search(wrong.says, str(error)), f"{error}\nCUDA says: {wrong.says}\n({wrong.source})"


def test_a_wrong_word_is_noticed():
    """The table's own check: a message that names the wrong device does not pass for CUDA's."""
    wrong = next(w for w in WRONG if w.name == "add")
    check(wrong, RuntimeError(f"{SAME}, but found at least two devices, cuda:0 and cpu!"))
    for text in (f"{SAME}, but found at least two devices, cuda:1 and cpu!", "devices differ", SAME):
        with pytest.raises(AssertionError):
            check(wrong, RuntimeError(text))
