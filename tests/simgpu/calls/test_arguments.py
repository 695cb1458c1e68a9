"""Where a call's tensors are is found however they are nested, and nothing comes back from the wrong place unsaid."""

import pytest
import torch
from torch import nn

from simgpu import simulated_gpus

GPU = torch.device("cuda", 1)
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own use of it, in its transforms


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(2):
        yield


CALLS = {
    "in a list": lambda d: nn.utils.rnn.pad_sequence([torch.ones(2, device=d), torch.ones(3, device=d)]),
    "by name": lambda d: torch.quantile(input=torch.arange(5.0, device=d), q=0.5),
    "made inside": lambda d: torch.combinations(torch.arange(3, device=d)),
    "made inside, by name": lambda d: torch.combinations(input=torch.arange(3, device=d)),
    "a list by name": lambda d: torch.stack(tensors=[torch.ones(1, device=d)] * 2),
    "einsum": lambda d: torch.einsum("ij,jk->ik", [torch.ones(2, 2, device=d)] * 2),
    "block_diag": lambda d: torch.block_diag(torch.ones(2, 2, device=d), torch.ones(1, 1, device=d)),
    "istft": lambda d: torch.istft(
        torch.stft(torch.ones(64, device=d), 16, window=torch.hann_window(16, device=d), return_complex=True),
        16,
        window=torch.hann_window(16, device=d),
    ),
    "fractional pool": lambda d: nn.functional.fractional_max_pool2d(
        torch.arange(36.0, device=d).view(1, 1, 6, 6), 2, 3, _random_samples=torch.full((1, 1, 2), 0.5, device=d)
    ),
    "losses": lambda d: torch.tensor([torch.tensor(1.0, device=d), torch.tensor(2.0, device=d)], device=d),
    "nested losses": lambda d: torch.tensor([[1.0, torch.tensor(2.0, device=d)]], device=d),
    "hessian": lambda d: torch.func.hessian(lambda x: (x**3).sum())(torch.arange(3.0, device=d)),
    "jvp": lambda d: torch.func.jvp(torch.sin, (torch.arange(3.0, device=d),), (torch.ones(3, device=d),))[1],
    "jacfwd": lambda d: torch.func.jacfwd(torch.sin)(torch.arange(3.0, device=d)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_the_cpus_and_lies_on_the_device(name):
    simulated, plain = CALLS[name](GPU), CALLS[name]("cpu")
    assert simulated.device == GPU and torch.equal(simulated.cpu(), plain)


def test_numbers_read_of_tensors_make_a_tensor_on_the_cpu():
    loss = torch.tensor(1.5, device=GPU)
    assert torch.tensor([loss, loss * 2]).tolist() == [1.5, 3.0] and torch.tensor([loss]).device.type == "cpu"


def test_what_a_function_is_told_to_write_is_written():
    out = torch.empty((), dtype=torch.int64, device=GPU)
    assert torch.linalg.matrix_rank(torch.eye(3, device=GPU), out=out) is out and out.item() == 3
    wider = torch.empty(0, device=GPU)
    torch.linalg.multi_dot([torch.ones(2, 3, device=GPU), torch.ones(3, 2, device=GPU)], out=wider)
    assert wider.tolist() == [[3, 3], [3, 3]]
    with pytest.raises(RuntimeError, match="out"):
        torch.linalg.matrix_rank(torch.eye(3, device=GPU), out=torch.empty((), dtype=torch.bool, device=GPU))


def test_a_result_that_stays_at_home_is_an_error(monkeypatch):
    plain = torch._C._nn.one_hot

    def blind(x):
        return torch.ones(len(x))  # as C++ that makes a tensor on the C++ device, and can't be seen doing it

    from simgpu.calls import torch_function

    x = torch.ones(2, device=GPU)
    assert torch_function.run(plain, (torch.tensor([0, 1], device=GPU),), {}).device == GPU
    monkeypatch.setattr(torch_function, "make_inside", lambda func, args, kwargs, *rest: func(*args, **kwargs))
    with pytest.raises(RuntimeError, match="blind of tensors on cuda:1 gave a tensor on the CPU: .* not handed out"):
        torch_function._checked(blind, (x,), {}, blind(x))
    assert torch_function._checked(torch.Tensor.copy_, (plain_ := torch.ones(2), x), {}, plain_) is plain_
    assert torch.ones(1).expand_as(x).device.type == "cpu"


@pytest.mark.parametrize("device", [1, "cuda:1", GPU])
def test_an_index_alone_is_a_device(device):
    assert nn.Linear(2, 2).to(device).weight.device == nn.Linear(2, 2).to(device=device).weight.device == GPU
    assert torch.device(1) == GPU and isinstance(torch.device("cpu"), torch.device)
    assert torch.get_device_module() is torch.cuda


def test_old_classes_of_cuda_know_its_tensors():
    x = torch.ones(2, device=GPU)
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.cuda.HalfTensor)
    assert not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    assert torch.cuda.LongTensor([1, 2]).tolist() == [1, 2] and torch.cuda.FloatTensor(2, 3).shape == (2, 3)


@pytest.mark.parametrize("make", [lambda m: m().to(GPU), lambda m: m(device=GPU), lambda m: m().cuda(1)])
def test_a_lazy_module_is_made_where_it_was_sent(make):
    layer = make(lambda **options: nn.LazyLinear(3, **options))
    layer(torch.ones(1, 2, device=GPU)).sum().backward()
    assert layer.weight.device == layer.weight.grad.device == GPU and isinstance(layer.weight, nn.Parameter)
    assert isinstance(layer, nn.Linear) and len(list(layer.parameters())) == 2
    norm = make(nn.LazyBatchNorm1d) if make.__code__.co_names != ("GPU",) else nn.LazyBatchNorm1d().to(GPU)
    assert norm(torch.ones(4, 2, device=GPU)).device == norm.running_mean.device == GPU


def test_an_embeddings_sparse_gradient_is_on_the_device_and_is_stepped_with():
    def program(device):
        torch.manual_seed(0)
        table = nn.Embedding(5, 2, sparse=True).to(device)
        for optimiser in (torch.optim.SGD(table.parameters(), lr=0.1), torch.optim.SparseAdam(table.parameters())):
            table.zero_grad()
            table(torch.tensor([1, 2, 1], device=device)).square().sum().backward()
            assert table.weight.grad.is_sparse and table.weight.grad.device.type == torch.device(device).type
            optimiser.step()
        return table.weight.detach().cpu()

    assert torch.allclose(program("cuda:1"), program("cpu"))


def test_a_move_that_names_no_gpu_is_torchs_own():
    plain = torch.ones(2)
    assert plain.to("cpu") is plain and plain.to(torch.device("cpu")) is plain and plain.to(torch.float32) is plain
    assert plain.to(device="cpu", dtype=torch.float64).dtype == torch.float64
    assert plain.to("cpu", copy=True) is not plain
    for device in (1, "cuda:1", torch.device("cuda", 1), torch.ones(1, device="cuda:1")):
        assert plain.to(device).device == torch.device("cuda", 1)
    assert plain.to(0).device == torch.device("cuda", 0)
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        plain.to([])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_simulated_tensor_of_one_element_is_a_number_among_numbers(shape):
    plain, simulated = torch.full(shape, 3.0), torch.full(shape, 3.0, device="cuda")
    for build in (lambda x: [1.0, x], lambda x: [x, 1.0], lambda x: [[1.0], [x]], lambda x: [[x], [1.0]]):
        result = torch.tensor(build(simulated))
        assert result.device.type == "cpu"
        torch.testing.assert_close(result, torch.tensor(build(plain)))
    assert torch.tensor((simulated, 1.0)).tolist() == [3.0, 1.0]


@pytest.mark.parametrize("make", [torch.tensor, torch.as_tensor])
def test_several_elements_among_numbers_are_refused_in_torchs_words(make):
    for device in ("cpu", "cuda"):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            make([torch.ones(2, device=device)])


def test_numbers_alone_make_a_tensor_with_what_torch_is_told_besides():
    assert torch.tensor([[1, 2], [3, 4]], dtype=torch.float64, requires_grad=True).requires_grad
    assert torch.tensor([1.0], device="cuda").is_cuda and torch.tensor([[]]).shape == (1, 0)
    with pytest.raises(TypeError, match="not a sequence"):
        torch.tensor([[1.0], 2.0])
