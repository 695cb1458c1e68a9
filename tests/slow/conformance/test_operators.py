"""Every op of torch's database agrees on a simulated GPU with the CPU, or is refused for a reason that is known."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from simgpu import simulated_gpus
from tests.slow.conformance.operators.outcomes import Outcome, differences, flat
from tests.slow.conformance.operators.shares import Walk, walked
from tests.slow.conformance.operators.table import QUICK, quick_counts
from tests.slow.conformance.operators.walk import AGREES, DIFFERS, REFUSED, examine

PAGE = Path(__file__).resolve().parents[3] / "docs" / "operators_of_torch.md"
NO_CUDA = "no CUDA device here: ops are compared with the CPU, and with the errors that torch expects of CUDA"


@pytest.fixture(scope="module")
def verdicts():
    """Return the verdicts of all ops in the quick ways, in a process of their own: torch's tests set flags of torch."""
    return list(walked(Walk(QUICK, ("float32",), 1), 1))


@pytest.mark.timeout(1800)  # half a minute of one core, which may be busy
def test_no_op_differs(verdicts):
    assert len(verdicts) > 1000
    assert [verdict for verdict in verdicts if verdict.verdict == DIFFERS] == []


@pytest.mark.timeout(1800)
def test_the_page_tells_what_these_calls_give(verdicts):
    version, page = torch.__version__.partition("+")[0], PAGE.read_text(encoding="utf-8")
    if f"torch {version}," not in page:
        pytest.skip(f"the page was made with another torch than {version}: make conformance")
    assert quick_counts(verdicts) in page


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_CUDA)
def test_cuda_itself_agrees():
    verdicts_of_cuda = walked(Walk(("positional",), ("float32",), 1), 1)
    assert [verdict for verdict in verdicts_of_cuda if verdict.verdict in (DIFFERS, REFUSED)] == []


WRONG = {
    "value": lambda x: x + 1,
    "dtype": lambda x: x.double(),
    "shape": lambda x: x[:2],
    "strides": lambda x: x.repeat_interleave(2)[::2],
    "device": lambda x: x.cpu(),
    "gradient": lambda x: x.detach().requires_grad_(),
}


@pytest.mark.parametrize("difference", WRONG)
def test_a_planted_difference_is_noticed(difference):
    with simulated_gpus(1):
        expected = torch.tensor([1.0, 2.0, 3.0])
        actual = expected.cuda()
        assert not differences(Outcome(flat([actual])), Outcome(flat([expected])), "cuda:0")
        assert differences(Outcome(flat([WRONG[difference](actual)])), Outcome(flat([expected])), "cuda:0")


def op(function):
    """Return an op as the database has them, with one sample."""

    def sample_inputs(op, device, dtype, requires_grad):
        x = torch.tensor([1.0, 2.0], device=device, dtype=dtype, requires_grad=requires_grad)
        yield SimpleNamespace(input=x, args=(), kwargs={}, output_process_fn_grad=lambda result: result)

    dtypes = {torch.float32}
    return SimpleNamespace(
        op=function, formatted_name="planted", sample_inputs_func=sample_inputs, dtypes=dtypes, dtypesIfCUDA=dtypes,
        backward_dtypes=dtypes, supports_autograd=True,
    )  # fmt: skip


class Doubled(torch.autograd.Function):
    """The identity, whose gradient is wrong on the device."""

    @staticmethod
    def forward(ctx, x):
        ctx.factor = 2 if x.is_cuda else 1
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor


def refuses(x):
    """Raise for what is on the device."""
    if x.is_cuda:
        raise NotImplementedError("not here")
    return x + 1


PLANTED = {
    "right": (torch.exp, AGREES, AGREES),
    "wrong value": (lambda x: torch.exp(x) + x.is_cuda, DIFFERS, DIFFERS),
    "wrong gradient": (Doubled.apply, AGREES, DIFFERS),
    "written argument": (lambda x: x.detach().add_(x.is_cuda) * 0, DIFFERS, DIFFERS),
    "refused": (refuses, REFUSED, REFUSED),
    "at random": (torch.rand_like, AGREES, AGREES),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_op_gets_the_verdict_that_it_deserves(name):
    function, forward, backward = PLANTED[name]
    with simulated_gpus(1):
        assert examine(op(function), "positional", "float32", 1).verdict == forward
        assert examine(op(function), "gradient", "float32", 1).verdict == backward


def test_the_page_has_nothing_that_differs_and_a_reason_for_each_refusal():
    page = PAGE.read_text(encoding="utf-8")
    assert ", 0 differs" in page.partition("In all: ")[2].partition("\n")[0]
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `") and " | refused | " in line]
    assert rows and all("Error: " not in row[-1] for row in rows)
