"""Every op of torch's database agrees on a simulated GPU with the CPU, or is refused for a reason that is known."""

from collections import Counter
from pathlib import Path

import pytest
import torch

from simgpu import simulated_gpus
from tests.slow.conformance.operators.outcomes import Outcome, differences, flat
from tests.slow.conformance.operators.table import QUICK, quick_counts
from tests.slow.conformance.operators.walk import AGREES, DIFFERS, REFUSED, examine

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "operators_of_torch.md").read_text(encoding="utf-8")
NO_CUDA = "no CUDA device here: ops are compared with the CPU, and with the errors that torch expects of CUDA"


@pytest.fixture(scope="module")
def database():
    from torch.testing._internal.common_methods_invocations import op_db  # takes seconds to import

    return op_db


@pytest.fixture(scope="module")
def verdicts(database):
    """Return the verdicts of all ops in the quick parts, one sample each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # hundreds of small ops: threads of a busy machine wait for each other
    try:
        with simulated_gpus(1):
            found = [examine(op, way, dtype, 1) for way, dtype in QUICK for op in database]
    finally:
        torch.set_num_threads(threads)
    return [one for one in found if one is not None]


def test_no_op_differs(verdicts):
    assert len(verdicts) > 1000
    assert [one for one in verdicts if one.verdict == DIFFERS] == []


def test_the_page_tells_what_these_calls_give(verdicts):
    version = torch.__version__.partition("+")[0]
    if f"torch {version}," not in PAGE:
        pytest.skip(f"the page was made with another torch than {version}: make conformance")
    assert quick_counts(verdicts) in PAGE


@pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_CUDA)
def test_cuda_itself_agrees(database):
    found = [examine(op, "positional", "float32", 1) for op in database]
    assert [one for one in found if one is not None and one.verdict in (DIFFERS, REFUSED)] == []


WRONG = {
    "value": lambda x: x + 1,
    "dtype": lambda x: x.double(),
    "shape": lambda x: x[:2],
    "strides": lambda x: x.repeat(2)[::2],
    "device": lambda x: x.cpu(),
    "gradient": lambda x: x.detach().requires_grad_(),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_planted_difference_is_noticed(what):
    with simulated_gpus(1):
        here = torch.tensor([1.0, 1.0, 1.0])
        there = here.cuda()
        assert not differences(Outcome(flat([there])), Outcome(flat([here])), "cuda:0")
        assert differences(Outcome(flat([WRONG[what](there)])), Outcome(flat([here])), "cuda:0")


def test_an_op_that_is_wrong_on_the_device_alone_differs(database, monkeypatch):
    op = next(op for op in database if op.name == "exp")
    monkeypatch.setattr(op, "op", lambda x: torch.exp(x) + x.is_cuda)
    with simulated_gpus(1):
        assert examine(op, "positional", "float32", 1).verdict == DIFFERS
    monkeypatch.setattr(op, "op", torch.exp)
    with simulated_gpus(1):
        assert examine(op, "positional", "float32", 1).verdict == AGREES


def test_the_page_has_nothing_that_differs_and_a_reason_for_each_refusal():
    assert ", 0 differs" in PAGE.partition("In all: ")[2].partition("\n")[0]
    rows = [line.split(" | ") for line in PAGE.splitlines() if " | refused | " in line and line.startswith("| `")]
    assert rows and all("Error: " not in row[-1] for row in rows)
    assert Counter(row[1] for row in rows)["refused"] == len(rows)
