"""Random programs of views, writes, moves and gradients: the simulation agrees with a slow model of CUDA's rules."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course import simulated_gpus
from tests.slow.conformance.random_programs import MISMATCH, Step, inputs, make, predicted, run, steps

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"

quick = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def gpus():
    with simulated_gpus(2) as simulated:
        yield simulated


@quick
@given(inputs=inputs, program=st.lists(steps, min_size=1, max_size=8))
def test_values_devices_and_errors_are_those_of_the_rules(gpus, inputs, program):
    simulated, model = make(inputs, True), make(inputs, False)
    leaves = list(zip(simulated, model, strict=True))
    labels = [str(x.device) for x in simulated]
    for step in program:
        both(step, simulated, model, labels)
        compare(simulated, model, labels)
    gradients_agree(leaves, simulated, model)


def both(step, simulated, model, labels):
    """Run one step on both sides; what fails must fail on both, and a mismatch where the rules say so."""
    expected = predicted(step, model, labels)
    if expected == MISMATCH:
        # what is wrong on one device too is an error either way; which of the two torch finds first differs by op
        with pytest.raises((RuntimeError, IndexError)) as error_info:
            run(step, simulated)
        assert any(words in str(error_info.value) for words in (MISMATCH, LEAF)) or fails(step, model, labels), (
            error_info.value
        )
        return
    result, failed = None, None
    try:
        result = run(step, model, labels)
    except (RuntimeError, IndexError) as error:
        failed = error
    if failed is not None:
        with pytest.raises(type(failed)):
            run(step, simulated)
        return
    new = run(step, simulated)
    if result is not None:
        model.append(result)
        simulated.append(new)
        labels.append(expected)


def fails(step, pool, labels):
    """Say if `step` fails on the CPU too, tried on copies."""
    try:
        run(step, [x.detach().clone() for x in pool], labels)
    except (RuntimeError, IndexError):
        return True
    return False


def compare(simulated, model, labels):
    for x, y, label in zip(simulated, model, labels, strict=True):
        assert str(x.device) == label
        assert (tuple(x.shape), x.dtype, x.requires_grad) == (tuple(y.shape), y.dtype, y.requires_grad)
        assert torch.equal(torch.nan_to_num(x.detach().cpu()), torch.nan_to_num(y.detach())), (x, y)


def gradients_agree(leaves, simulated, model):
    """Add up all results at home and go back: each leaf's gradient is right, and on the leaf's device."""
    total, expected = sum(x.cpu().sum() for x in simulated), sum(y.sum() for y in model)
    if not expected.requires_grad:
        return
    try:
        expected.backward()
    except RuntimeError:  # a tensor that autograd needs was written to: then it is needed there too
        with pytest.raises(RuntimeError):
            total.backward()
        return
    total.backward()
    for x, y in leaves:
        assert x.is_leaf == y.is_leaf
        if not y.is_leaf:  # written to from a tensor with a history
            continue
        assert (x.grad is None) == (y.grad is None)
        if y.grad is not None:
            assert x.grad.device == x.device
            assert torch.allclose(x.grad.cpu(), y.grad, rtol=1e-9, atol=1e-9, equal_nan=True)


def test_the_model_of_the_rules_notices_a_wrong_device():
    """The model's own check: it calls for a mismatch where CUDA has one, and for a device where it has not."""
    cpu, gpu, scalar = torch.ones(3), torch.ones(3), torch.ones(())
    labels = ["cpu", "cuda:0", "cpu"]

    def says(kind, op, a, b):
        return predicted(Step(kind, op, a, b, "cuda:1"), [cpu, gpu, scalar], labels)

    assert says("pointwise", "add", 0, 1) == MISMATCH
    assert says("pointwise", "add", 1, 2) == "cuda:0"
    assert says("together", "stack", 1, 2) == MISMATCH
    assert says("writing", "add_", 2, 1) == MISMATCH
    assert says("writing", "add_", 1, 2) == "cuda:0"
    assert says("copying", "copy_", 0, 1) == "cpu"
    assert says("move", "to", 0, 0) == "cuda:1"
