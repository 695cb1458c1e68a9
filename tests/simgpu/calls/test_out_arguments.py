"""`out=` of one size or another takes the shape and the order in memory that the CPU's would."""

import pytest
import torch

from simgpu import simulated_gpus

A = torch.tensor([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(1):
        yield


SEVERAL = {
    "sort": lambda x, **out: torch.sort(x, **out),
    "max": lambda x, **out: torch.max(x, 0, **out),
    "topk": lambda x, **out: torch.topk(x, 2, **out),
    "frexp": lambda x, **out: torch.frexp(x, **out),
    "kthvalue": lambda x, **out: torch.kthvalue(x, 1, **out),
    "eigh": lambda x, **out: torch.linalg.eigh(x, **out),
    "qr": lambda x, **out: torch.linalg.qr(x, **out),
}
ONE = {
    "inv": lambda x, **out: torch.linalg.inv(x, **out),
    "cholesky": lambda x, **out: torch.linalg.cholesky(x, **out),
    "ifft": lambda x, **out: torch.fft.ifft(x, dim=0, **out),
    "ihfftn": lambda x, **out: torch.fft.ihfftn(x, dim=(0, 1), **out),
    "tensorinv": lambda x, **out: torch.linalg.tensorinv(x.reshape(3, 3), ind=1, **out),
}


def facts(tensors):
    return [(tuple(tensor.shape), tensor.stride(), tensor.dtype) for tensor in tensors]


@pytest.mark.parametrize("name", SEVERAL)
def test_several_results_of_no_size_take_their_shapes(name):
    call, results = SEVERAL[name], []
    for x in (A, A.cuda()):
        out = tuple(torch.empty(0, dtype=tensor.dtype, device=x.device) for tensor in call(x))
        assert all(tensor is other for tensor, other in zip(call(x, out=out), out, strict=True))
        results.append(out)
    plain, simulated = results
    assert facts(plain) == facts(simulated)
    assert all(torch.equal(tensor, other.cpu()) for tensor, other in zip(plain, simulated, strict=True))


@pytest.mark.parametrize("name", ONE)
def test_a_result_of_no_size_takes_shape_and_order(name):
    call, results = ONE[name], []
    for x in (A, A.cuda()):
        out = torch.empty(0, dtype=call(x).dtype, device=x.device)
        assert call(x, out=out) is out
        results.append(out)
    plain, simulated = results
    assert facts([plain]) == facts([simulated]) and torch.allclose(plain, simulated.cpu())


def test_a_result_of_right_size_keeps_its_order():
    out = torch.ones(3, 3, device="cuda")
    assert torch.linalg.inv(A.cuda(), out=out) is out and out.stride() == (3, 1)
    assert torch.allclose(out.cpu() @ A, torch.eye(3), atol=1e-5)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")  # by torch itself
def test_out_is_written_where_torch_on_the_cpu_forgets_it():
    x, out = A.cuda(), torch.empty(0, dtype=torch.complex64, device="cuda")
    torch.fft.ihfftn(x, dim=(0,), out=out)
    assert torch.equal(out, torch.fft.ihfftn(x, dim=(0,)))


def test_a_factory_told_the_cpu_makes_its_tensor_there_at_once():
    x = torch.ones(3, device="cuda")
    used = torch.cuda.memory_allocated()
    torch.manual_seed(3)
    drawn = torch.rand(4)
    torch.manual_seed(3)
    torch.rand(2, device="cuda")  # of another generator
    drawn_there = torch.rand_like(torch.ones(4, device="cuda"), device="cpu")
    assert drawn_there.device.type == "cpu" and torch.equal(drawn_there, drawn)
    gaps = x.new_empty_strided((2, 3), (20, 2), device="cpu")
    assert gaps.stride() == (20, 2) and gaps.device.type == "cpu"
    assert torch.cuda.memory_allocated() == used


def test_a_backward_or_a_type_of_nonsense_is_refused_in_torchs_words():
    x = torch.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        x.backward(0)
    with pytest.raises(TypeError, match="dtype must be a type, str, or dtype object"):
        x.type([1])


def test_a_number_is_copied_into_a_tensor():
    assert torch.ones(3, device="cuda").copy_(7).tolist() == torch.ones(3).copy_(7).tolist() == [7, 7, 7]
