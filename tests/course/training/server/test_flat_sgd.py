"""An update of one vector beside PyTorch's own step, tensor by tensor: the same bits; and who is left to PyTorch."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course.training import ParameterServer
from course.training.server.rules import mean_of
from course.training.transport.layout import Tensors, new_tensors

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
shapes = st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=1, max_size=4)
optimizers = st.builds(
    lambda momentum, dampening, **more: partial(
        torch.optim.SGD, momentum=momentum, dampening=dampening, nesterov=momentum > 0 and dampening == 0, **more
    ),
    momentum=st.sampled_from([0.0, 0.9, 0.3]),
    dampening=st.sampled_from([0.0, 0.25]),
    lr=st.sampled_from([0.1, 1.0, 1 / 3]),
    weight_decay=st.sampled_from([0.0, 0.01]),
    maximize=st.booleans(),
)


def drawn(shapes, dtype, seed):
    """Tensors of these shapes, from N(0, 1)."""
    generator = torch.Generator().manual_seed(seed)
    return {f"t{i}": torch.randn(shape, generator=generator).to(dtype) for i, shape in enumerate(shapes)}


def alike(*snapshots):
    """Whether two snapshots hold the same bits."""
    tensors = []
    for snapshot in snapshots:
        buffers = {name: entry.get("momentum_buffer") for name, entry in snapshot.optimizer["state"].items()}
        momentum = {f"momentum of {name}": value for name, value in buffers.items() if value is not None}
        tensors.append({**snapshot.parameters, **momentum})
    ours, torchs = tensors
    return ours.keys() == torchs.keys() and all(torch.equal(ours[name], torchs[name]) for name in ours)


@given(
    shapes, st.sampled_from(FLOATS), optimizers, st.lists(st.sampled_from(["flat", "as a dict", "saved"]), max_size=4)
)
@settings(max_examples=60)
def test_an_update_of_one_vector_is_that_of_pytorch_bit_for_bit(shapes, dtype, optimizer, ways):
    first = drawn(shapes, dtype, 0)
    ours, torchs = ParameterServer(first, optimizer), ParameterServer(first, optimizer)
    for version, way in enumerate(ways):
        gradients = drawn(shapes, dtype, version + 1)
        torchs.push(gradients, version)
        if way == "saved":  # both ways go on from what the other has left
            ours = ParameterServer(first, optimizer, state=ours.state())
        ours.push(new_tensors(gradients) if way == "flat" else gradients, version)
        assert alike(ours.state(), torchs.state()), way
    flat, plain = new_tensors(first), {name: torch.empty_like(value) for name, value in first.items()}
    assert ours.pull(into=flat).version == ours.pull(into=plain).version == len(ways)
    assert all(torch.equal(flat[name], value) for name, value in plain.items())


@given(shapes, st.sampled_from(FLOATS), st.integers(1, 4))
def test_the_mean_of_vectors_is_that_of_their_tensors_bit_for_bit(shapes, dtype, count):
    gradients = [drawn(shapes, dtype, seed) for seed in range(count)]
    before = [{name: value.clone() for name, value in gradient.items()} for gradient in gradients]
    into = new_tensors(gradients[0])
    wanted = {name: sum((gradient[name] for gradient in before[1:]), before[0][name]) / count for name in before[0]}
    vectors = [new_tensors(gradient) for gradient in gradients]
    for mean in (mean_of(vectors, into), mean_of(gradients, into), mean_of(gradients)):
        assert all(torch.equal(mean[name], value) for name, value in wanted.items())
    for gradient, copy in zip(gradients, before, strict=True):
        assert all(torch.equal(gradient[name], value) for name, value in copy.items())


class Halved(torch.optim.SGD):
    """Steps half as far."""

    def step(self, closure=None):
        """Step with half the rate."""
        self.param_groups[0]["lr"] /= 2
        super().step(closure)
        self.param_groups[0]["lr"] *= 2


def hooked(parameters):
    """SGD with a hook that sets every parameter to 5."""
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    optimizer.register_step_post_hook(lambda *_: [value.data.fill_(5) for value in parameters])
    return optimizer


def two_rates(parameters):
    """SGD with a rate of its own for the second tensor."""
    return torch.optim.SGD([{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.1}], lr=1.0)


@pytest.mark.parametrize(
    "optimizer",
    [partial(Halved, lr=1.0), hooked, two_rates, partial(torch.optim.SGD, lr=1.0, foreach=True), torch.optim.Adam],
)
def test_an_optimiser_that_may_do_anything_else_makes_its_own_step(optimizer):
    first = drawn([[3], [2, 2]], torch.float32, 0)
    ours, torchs = ParameterServer(first, optimizer), ParameterServer(first, optimizer)
    for version in range(3):
        gradients = drawn([[3], [2, 2]], torch.float32, version + 1)
        torchs.push(gradients, version)
        ours.push(new_tensors(gradients), version)
    assert all(torch.equal(ours.pull().parameters[name], value) for name, value in torchs.pull().parameters.items())


def test_tensors_of_two_dtypes_are_updated_one_by_one():
    first = {"a": torch.zeros(2), "b": torch.zeros(2, dtype=torch.float64)}
    gradients = new_tensors({name: torch.ones_like(value) for name, value in first.items()})
    assert isinstance(gradients, Tensors) and gradients.flat is None
    store = ParameterServer(first, partial(torch.optim.SGD, lr=1.0))
    store.push(gradients, 0)
    assert store.spare is None and all(value.tolist() == [-1, -1] for value in store.pull().parameters.values())


def test_of_a_vector_that_is_not_finite_the_tensor_is_named():
    store = ParameterServer({"a": torch.zeros(3), "b": torch.zeros(2)}, partial(torch.optim.SGD, lr=1.0))
    gradients = new_tensors(store.pull().parameters)
    gradients["b"][1] = float("inf")
    with pytest.raises(ValueError, match="'b' is not finite"):
        store.push(gradients, 0)
    assert store.version == 0
