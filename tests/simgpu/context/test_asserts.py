"""Device-side asserts: which of CUDA's ops leave bad numbers to one, when it is told, and that the context is lost."""

import subprocess
import sys
import textwrap
import warnings

import pytest
import torch
import torch.nn.functional as F

from simgpu import simulated_gpus
from simgpu.context.asserts import ASSERTING
from simgpu.models.op_seconds import Work

ASSERTED = "^CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert'"


@pytest.fixture
def gpus():
    with simulated_gpus(2) as gpus:
        yield gpus
        gpus.reset()


def cuda(*numbers):
    return torch.tensor(numbers, device="cuda")


def table():
    return torch.arange(20.0, device="cuda").reshape(4, 5)


def columns(number):
    return cuda(0, number).repeat(4, 1)


# op -> what a program calls with a number from outside, what of the message says which number, a call with legal ones
CALLS = {
    "index": (lambda: table()[cuda(-1, 4)], "dimension 0 index 4, where 0 to 3", lambda: table()[cuda(-4, 3)]),
    "index of a column": (lambda: table()[:, cuda(-6)], "dimension 1 index -6", lambda: table()[:, cuda(-5, 4)]),
    "index from the CPU": (lambda: table()[torch.tensor([9])], "index 9", lambda: table()[torch.tensor([3])]),
    "index_put_": (lambda: table().__setitem__(cuda(7), 1.0), "index 7", lambda: table().__setitem__(cuda(-1), 1.0)),
    "index behind a mask of two dimensions": (
        lambda: table().reshape(2, 2, 5)[cuda([True, True], [True, True]), cuda(5)], "dimension 2 index 5, where 0 to",
        lambda: table().reshape(2, 2, 5)[cuda([True, True], [True, True]), cuda(4)],
    ),
    "embedding": (lambda: F.embedding(cuda(1, 4), table()), "index 4", lambda: F.embedding(cuda(3), table())),
    "embedding_bag": (
        lambda: F.embedding_bag(cuda([0, 4]), table()), "index 4", lambda: F.embedding_bag(cuda([0, 3]), table())
    ),
    "index_select": (lambda: table().index_select(1, cuda(-1)), "index -1", lambda: table().index_select(1, cuda(4))),
    "index_add": (
        lambda: table().index_add(1, cuda(5, 0), table()[:, :2]), "index 5",
        lambda: table().index_add(1, cuda(4, 0), table()[:, :2]),
    ),
    "index_copy_": (
        lambda: table().index_copy_(1, cuda(5, 0), table()[:, :2]), "index 5",
        lambda: table().index_copy_(1, cuda(4, 0), table()[:, :2]),
    ),
    "index_fill": (lambda: table().index_fill(0, cuda(-5), 0), "index -5", lambda: table().index_fill(0, cuda(-4), 0)),
    "gather": (lambda: table().gather(1, columns(5)), "index 5", lambda: table().gather(1, columns(4))),
    "scatter": (lambda: table().scatter(1, columns(-1), 0.0), "index -1", lambda: table().scatter(1, columns(4), 0.0)),
    "scatter_add_": (
        lambda: table().scatter_add_(1, columns(5), table()), "index 5",
        lambda: table().scatter_add_(1, columns(4), table()),
    ),
    "scatter_reduce": (
        lambda: table().scatter_reduce(1, columns(5), table(), "amax"), "index 5",
        lambda: table().scatter_reduce(1, columns(4), table(), "amax"),
    ),
    "take": (lambda: table().take(cuda(20)), "index 20", lambda: table().take(cuda(-20))),
    "put_": (lambda: table().put_(cuda(-21), cuda(1.0)), "index -21", lambda: table().put_(cuda(19), cuda(1.0))),
    "cross_entropy": (
        lambda: F.cross_entropy(table(), cuda(0, 5, -100, 2)), "class 5, where 0 to 4",
        lambda: F.cross_entropy(table(), cuda(0, 4, -100, 2)),
    ),
    "cross_entropy of an ignored class": (
        lambda: F.cross_entropy(table(), cuda(0, -100, 1, 2), ignore_index=-1), "class -100",
        lambda: F.cross_entropy(table(), cuda(0, -1, 1, 2), ignore_index=-1),
    ),
    "nll_loss of pictures": (
        lambda: F.nll_loss(table().reshape(1, 5, 2, 2), cuda([[0, 1], [5, 2]])), "class 5",
        lambda: F.nll_loss(table().reshape(1, 5, 2, 2), cuda([[0, 1], [4, -100]])),
    ),
    "one_hot": (lambda: F.one_hot(cuda(0, 3), 3), "index 3, where 0 to 2", lambda: F.one_hot(cuda(0, 2), 3)),
    "one_hot of a negative class": (lambda: F.one_hot(cuda(-1), 3), "index -1", lambda: F.one_hot(cuda(0, 2))),
    "multi_margin_loss": (
        lambda: F.multi_margin_loss(table(), cuda(0, 1, 5, 2)), "index 5",
        lambda: F.multi_margin_loss(table(), cuda(0, 1, 4, 2)),
    ),
    "max_unpool2d": (
        lambda: F.max_unpool2d(torch.ones(1, 1, 1, 1, device="cuda"), cuda([[[[4]]]])[0], 2), "index 4",
        lambda: F.max_unpool2d(torch.ones(1, 1, 1, 1, device="cuda"), cuda([[[[3]]]])[0], 2),
    ),
    "binary_cross_entropy": (
        lambda: F.binary_cross_entropy(cuda(1.5), cuda(1.0)), "it is 1.5",
        lambda: F.binary_cross_entropy(cuda(0.0, 1.0), cuda(1.0, 0.0)),
    ),
    "bernoulli": (lambda: torch.bernoulli(cuda(0.5, -0.1)), "it is -0.1", lambda: torch.bernoulli(cuda(0.0, 1.0))),
    "bernoulli_": (lambda: table().bernoulli_(cuda(2.0)), "it is 2.0", lambda: table().bernoulli_(cuda(1.0))),
    "poisson": (lambda: torch.poisson(cuda(-1.0)), "it is -1.0", lambda: torch.poisson(cuda(0.0, 9.0))),
    "multinomial of NaN": (
        lambda: torch.multinomial(cuda(0.5, float("nan")), 1), "one is nan", lambda: torch.multinomial(cuda(0.5, 0), 1)
    ),
    "multinomial of a negative": (lambda: torch.multinomial(cuda(0.5, -1.0), 1, True), "one is -1.0", None),
    "multinomial of nothing": (lambda: torch.multinomial(cuda(0.0, 0.0), 1), "sum of probabilities <= 0", None),
    "_assert_async": (
        lambda: torch._assert_async(cuda(0)[0]), "failed", lambda: torch._assert_async(cuda(1)[0])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_number_from_outside_is_told_when_the_host_waits(gpus, name):
    wrong, words, right = CALLS[name]
    wrong()  # returns, as a kernel's launch does
    with pytest.raises(torch.AcceleratorError, match=ASSERTED) as error:
        torch.cuda.synchronize()
    failed, line = str(error.value).split("\n\n")[1].splitlines()[:2]
    assert words in failed and f"{__file__}:" in line
    gpus.reset()
    if right is not None:
        right()
        torch.cuda.synchronize()


def test_every_op_that_asserts_is_one_of_torchs():
    assert {name for name in ASSERTING if not hasattr(torch.ops.aten, name)} == set()


def test_a_legal_number_gives_what_the_cpu_gives(gpus):
    x = torch.arange(20.0).reshape(4, 5)
    at, classes = torch.tensor([3, -1]), torch.tensor([0, 4, -100, 2])
    assert torch.equal(x.cuda()[at.cuda()].cpu(), x[at])
    assert torch.equal(F.cross_entropy(x.cuda(), classes.cuda()).cpu(), F.cross_entropy(x, classes))
    assert torch.equal(F.one_hot(at.cuda() + 1).cpu(), F.one_hot(at + 1))
    at = torch.tensor([0, 3])
    embedded = F.embedding(at.cuda(), x.cuda().requires_grad_())
    assert embedded.requires_grad and torch.equal(embedded.cpu(), x[at])


def test_what_cuda_refuses_on_the_host_is_refused_at_once(gpus):
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 4"):
        table()[7]
    with pytest.raises(IndexError, match="Dimension out of range"):
        table().index_select(2, cuda(0))
    with pytest.raises(RuntimeError, match="expected scalar type Long|Expected.*to have.*scalar types: Long, Int"):
        F.embedding(cuda(0.5), table())
    with pytest.raises(RuntimeError, match="num_classes should be positive"):
        F.one_hot(cuda(1), 0)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):  # CUDA looks at these itself: Indexing.cu
        table().index_put((cuda(9),), cuda(1.0)[0], accumulate=True)
    with pytest.raises(IndexError, match="The shape of the mask"):
        table()[cuda(True)]
    torch.cuda.synchronize()


WAITS = {
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.sum() > 0),
    "cpu": lambda x: x.cpu(),
    "tolist": lambda x: x.tolist(),
    "nonzero": lambda x: x.nonzero(),
    "a mask": lambda x: x[x > 0],
    "print": print,
    "a pageable copy to the device": lambda x: torch.ones(2).to("cuda"),
    "an event": lambda x: torch.cuda.current_stream().record_event().synchronize(),
    "a stream": lambda x: torch.cuda.current_stream().synchronize(),
    "synchronize": lambda x: torch.cuda.synchronize(),
    "the end of a stopwatch": lambda x: torch.accelerator.synchronize(),
}


@pytest.mark.parametrize("name", WAITS)
def test_every_call_that_waits_tells_it(gpus, name):
    x = table()
    y = x[cuda(4)]
    z = y * 2 + x.sum()  # launches go on
    assert z.shape == (1, 5)
    with pytest.raises(torch.AcceleratorError, match=r"index 4, where 0 to 3 are there.*\n.*y = x\[cuda\(4\)\]"):
        WAITS[name](z)


AFTERWARDS = {
    "a factory": lambda x: torch.zeros(2, device="cuda"),
    "an op": lambda x: x + 1,
    "the same op again": lambda x: x * 2,
    "another device": lambda x: torch.zeros(2, device="cuda:1"),
    "a copy": lambda x: torch.ones(2).cuda(),
    "print": print,
    "a stream": lambda x: torch.cuda.Stream(),
    "an event": lambda x: torch.cuda.Event().record(),
    "synchronize": lambda x: torch.cuda.synchronize(1),
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_the_context_is_lost_afterwards_until_it_is_reset(gpus, name):
    x = table()
    for _ in range(3):
        x * 2  # the short way of an op that ran before must not be open any more
    x[cuda(4)]
    with pytest.raises(torch.AcceleratorError):
        torch.cuda.synchronize()
    for _ in range(2):
        with pytest.raises(torch.AcceleratorError, match=ASSERTED):
            AFTERWARDS[name](x)
    assert torch.ones(2).sum() == 2, "the CPU goes on"
    gpus.reset()
    AFTERWARDS[name](x)


def test_an_assert_on_one_device_is_not_told_by_waiting_for_another(gpus):
    other = torch.ones(2, device="cuda:1")
    torch.cuda.synchronize()
    x, at = table(), cuda(4)
    gpus.clock.run(0, Work(1e15, 0))  # it is long at work when the other is waited for
    x[at]
    torch.cuda.synchronize(1)
    assert other.sum().item() == 2
    with pytest.raises(torch.AcceleratorError, match=ASSERTED):
        torch.cuda.synchronize(0)
    with pytest.raises(torch.AcceleratorError, match=ASSERTED):
        other + 1


def test_the_first_assert_is_the_one_that_is_told(gpus):
    x, first, second = table(), cuda(4), cuda(77)
    x[first]
    x[second]
    with pytest.raises(torch.AcceleratorError, match="index 4,") as error:
        torch.cuda.synchronize()
    assert error.value.error_code == 710


def test_a_clock_that_is_reset_forgets_no_assert(gpus):
    table()[cuda(4)]
    gpus.clock.reset()
    with pytest.raises(torch.AcceleratorError, match=ASSERTED):
        torch.cuda.synchronize()


def test_with_launch_blocking_it_is_told_at_the_call(gpus, monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    x = table()
    with pytest.raises(torch.AcceleratorError, match="index 4,"):
        x[cuda(4)]


def test_nothing_outside_of_the_target_is_written(gpus):
    memory, high, low = torch.zeros(12, device="cuda"), cuda(6), cuda(-7)
    x = memory[4:8]
    x.scatter_(0, high, 1.0)  # where the memory goes on: the write would be seen
    x[low] = 1.0
    x.index_fill_(0, high, 1.0)
    gpus.reset()
    assert memory[:4].sum().item() == memory[8:].sum().item() == 0


def test_an_assert_that_nothing_waited_for_is_warned_of_at_the_end():
    with pytest.warns(RuntimeWarning, match=r"(?s)nothing waited for it: its results are wrong. index: .*index 9"):
        with simulated_gpus(1):
            torch.ones(3, device="cuda")[torch.tensor([9])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with simulated_gpus(1):
            assert torch.ones(1, device="cuda").item() == 1


def test_the_line_of_a_backward_pass_is_the_one_that_called_it(gpus):
    scores = table().requires_grad_()
    target = cuda(0, 1, 2, 3)
    loss = F.cross_entropy(scores, target)
    target.fill_(9)  # which saved it, and would be told so by torch
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    source = torch.ones(4, 5, device="cuda", requires_grad=True)
    picked = source.gather(1, columns(4))
    picked.sum().backward()
    assert source.grad.sum().item() == 8


@pytest.mark.long
def test_a_program_ends_with_the_error_and_no_crash(tmp_path):
    program = textwrap.dedent(
        """
        import torch, simgpu
        gpus = simgpu.simulated_gpus(1)
        words = torch.nn.Embedding(10, 3).cuda()
        out = words(torch.tensor([2, 10**12, -5]).cuda()).sum()
        out.backward()
        print(out.item())
        """
    )
    file = tmp_path / "program.py"
    file.write_text(program)
    ended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=200)
    assert ended.returncode == 1, ended
    assert "torch.AcceleratorError: CUDA error: device-side assert triggered" in ended.stderr
    assert f"{file}:5: out = words(" in ended.stderr
