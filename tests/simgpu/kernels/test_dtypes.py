"""Dtypes: what CUDA's kernels lack is refused in its words, what they have runs although the CPU's lack it."""

import pytest
import torch
from torch.nn import functional as F

from simgpu import simulated_gpus


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(1) as started:
        yield started


def of(dtype, *shape):
    return torch.ones(shape, dtype=dtype, device="cuda")


LACKING = {
    "@": (lambda a: a @ a, "addmm_cuda"),
    "mm by keyword": (lambda a: torch.mm(input=a, mat2=a), "addmm_cuda"),
    "addmm": (lambda a: torch.addmm(a, a, a), "addmm_cuda"),
    "addmm in place": (lambda a: a.addmm_(a, a), "addmm_cuda"),
    "mm into out": (lambda a: torch.mm(a, a, out=torch.empty_like(a)), "addmm_cuda"),
    "linear": (lambda a: F.linear(a, a), "addmm_cuda"),
    "a batch @": (lambda a: a[None] @ a[None], "baddbmm_cuda"),
    "bmm": (lambda a: torch.bmm(a[None], a[None]), "baddbmm_cuda"),
    "einsum": (lambda a: torch.einsum("ij,jk->ik", a, a), "baddbmm_cuda"),
    "a matrix @ a vector": (lambda a: a @ a[0], "addmv_impl_cuda"),
    "dot": (lambda a: a[0].dot(a[0]), "dot"),
    "max_pool2d": (lambda a: F.max_pool2d(a[None], 2), "max_pool2d_with_indices_out_cuda_frame"),
    "avg_pool2d": (lambda a: F.avg_pool2d(a[None], 2), "avg_pool2d_out_cuda_frame"),
}


@pytest.mark.parametrize(("dtype", "word"), [(torch.int64, "Long"), (torch.uint8, "Byte"), (torch.bool, "Bool")])
@pytest.mark.parametrize("name", LACKING)
def test_a_dtype_that_cuda_lacks_is_refused_by_its_kernels_name(name, dtype, word):
    call, kernel = LACKING[name]
    x = of(dtype, 2, 2)
    for _ in range(2):  # the short way of an op that ran before is closed to it, too
        with pytest.raises(NotImplementedError, match=f"^\"{kernel}\" not implemented for '{word}'$"):
            call(x)
    assert x.long().sum() == 4  # nothing was written


@pytest.mark.parametrize("call", [F.conv1d, F.conv2d, F.conv3d, F.conv_transpose2d])
@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        (torch.int64, r"^getCudnnDataTypeFromScalarType\(\) not supported for Long$"),
        (torch.bool, r"^getCudnnDataTypeFromScalarType\(\) not supported for Bool$"),
        (torch.uint8, "^GET was unable to find an engine to execute this computation$"),
    ],
)
def test_a_convolution_of_integers_is_refused_in_cudnns_words(call, dtype, words):
    x = of(dtype, *[1] * (int(call.__name__[-2]) + 2))
    with pytest.raises(RuntimeError, match=words):
        call(x, x)


def test_shapes_and_unequal_dtypes_come_first():
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        of(torch.int64, 2, 3) @ of(torch.int64, 2, 3)
    with pytest.raises(RuntimeError, match="same dtype"):
        of(torch.int64, 2, 2) @ of(torch.float32, 2, 2)


def test_the_cpu_multiplies_integers_meanwhile():
    assert (torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64)).sum() == 8


BEYOND = {
    "avg_pool3d": lambda a: F.avg_pool3d(a[None], 2),
    "multi_margin_loss": lambda a: F.multi_margin_loss(a[0], torch.zeros(4, dtype=torch.long, device=a.device)),
    "antialiased": lambda a: F.interpolate(a[None], scale_factor=2.0, mode="bilinear", antialias=True),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", BEYOND)
def test_a_half_that_the_cpu_lacks_runs_there_with_its_gradient(name, dtype):
    x = torch.rand(4, 4, 4, device="cuda").to(dtype).requires_grad_()
    full = x.detach().cpu().float().requires_grad_()
    for _ in range(2):
        result, wanted = BEYOND[name](x), BEYOND[name](full)
        assert (result.dtype, result.device.type) == (dtype, "cuda")
        assert torch.allclose(result.cpu().float(), wanted, rtol=1e-2)
    result.sum().backward()
    wanted.sum().backward()
    assert x.grad.dtype == dtype and torch.allclose(x.grad.cpu().float(), full.grad, rtol=1e-2, atol=1e-2)


def test_integers_and_bools_that_only_cuda_counts():
    assert torch.histc(torch.tensor([1, 2, 2], device="cuda"), 2).tolist() == [1, 2]
    assert torch.eye(3, dtype=torch.bool, device="cuda").trace().item() == 3


def test_what_only_cuda_has_is_written_to_out_and_in_place():
    bools, out = torch.tensor([True, False], device="cuda"), torch.ones(0, dtype=torch.bool, device="cuda")
    assert torch.abs(bools, out=out) is out and out.tolist() == [True, False]
    assert torch.abs_(bools) is bools and bools.tolist() == [True, False]
    counts = torch.full((2,), 9, device="cuda")
    assert torch.histc(torch.tensor([1, 2, 2], device="cuda"), 2, out=counts) is counts and counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "kernel"),
    [
        (torch.linalg.cholesky, "cholesky_cuda"),
        (lambda a: torch.cdist(a, a), "cdist_cuda"),
        (lambda a: torch.igamma(a, a), "igamma_cuda"),
        (lambda a: torch.histc(a), "histc"),
    ],
)
def test_a_half_that_both_lack_is_refused_by_cudas_kernel(call, kernel):
    with pytest.raises(NotImplementedError, match=f"^\"{kernel}\" not implemented for 'Half'$"):
        call(of(torch.float16, 2, 2))


def test_an_op_without_a_kernel_for_cuda_is_refused():
    with pytest.raises(NotImplementedError, match="Could not run 'aten::histogram.bin_ct' with arguments from"):
        torch.histogram(of(torch.float32, 4), 2)


@pytest.mark.parametrize(
    "copy",
    [
        lambda shape: shape.cuda(),
        lambda shape: shape.to("cuda:0"),
        lambda shape: shape.to(torch.ones(1, device="cuda")),
        lambda shape: torch.ones(2, device="cuda").copy_(shape),
        lambda shape: torch.nn.Linear(2, 2, device="meta").cuda(),
    ],
)
def test_a_shape_without_numbers_is_not_copied(copy):
    with pytest.raises(NotImplementedError, match="^Cannot copy out of meta tensor; no data!"):
        copy(torch.empty(2, device="meta"))
