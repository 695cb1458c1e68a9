"""An op that runs again on the same shapes takes a shorter way, and gives what the CPU gives."""

import pytest
import torch

from simgpu import simulated_gpus
from simgpu.ops import fast_path

_OPS = torch.ops.aten
CALLS = {  # an op, its plain arguments, and whether torch's function of that name calls it and nothing else
    _OPS.add.Tensor: (2, True),
    _OPS.mm.default: (2, True),
    _OPS.relu.default: (1, True),
    _OPS.t.default: (1, True),
    _OPS.pow.Tensor_Tensor: (2, True),
    _OPS.sum.default: (1, True),
    _OPS._to_copy.default: (1, False),  # torch has no function of this name
    _OPS.matmul.default: (2, False),  # it calls mm
    _OPS.binary_cross_entropy_with_logits.default: (2, False),  # it asks for no reduction, the op's default is the mean
    _OPS.div.Tensor_mode: (2, False),  # the function of its name calls div.Tensor
}


@pytest.mark.parametrize("op", CALLS, ids=str)
def test_a_function_of_torch_runs_an_op_only_where_it_calls_that_one(op):
    count, same = CALLS[op]
    function = getattr(torch._C._VariableFunctions, op._schema.name.partition("::")[2], torch.relu)
    assert fast_path._calls(function, op, [torch.rand(3, 3) for _ in range(count)]) == same


def test_a_function_that_refuses_or_takes_more_runs_no_op():
    assert not fast_path._calls(torch.add, _OPS.add.Tensor, [torch.ones(2), torch.ones(3)])
    assert not fast_path._calls(torch.add, _OPS.add.Tensor, [])


@pytest.mark.parametrize("name", ["add", "mul", "div", "pow", "mm", "exp", "relu", "sum", "t", "gt", "maximum", "bmm"])
def test_the_shorter_way_gives_the_same_numbers_and_seconds(name):
    count = {"exp": 1, "relu": 1, "sum": 1, "t": 1}.get(name, 2)
    shape = (2, 3, 3) if name == "bmm" else (3, 3)
    plain = [torch.rand(shape) + 0.5 for _ in range(count)]
    function, seconds = getattr(torch, name), []
    with simulated_gpus(1) as gpus:
        simulated = [tensor.to("cuda") for tensor in plain]
        for _ in range(3):  # the first looks at everything
            before = gpus.clock.host
            torch.testing.assert_close(function(*simulated).cpu(), function(*plain), rtol=0, atol=0)
            seconds.append(gpus.clock.host - before)
    assert seconds[1] == pytest.approx(seconds[0]) and seconds[2] == pytest.approx(seconds[0])


def test_devices_that_differ_are_refused_on_the_shorter_way_too():
    with simulated_gpus(2):
        a, b = torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1")
        for _ in range(2):
            assert (a + a).device == a.device and (b + b).device == b.device
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            a + b
