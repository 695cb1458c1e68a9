"""What an op costs: operations by torch's formulas, bytes by what is read and written, nothing for a view."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from simgpu.ops.flops_and_bytes import work_of

aten = torch.ops.aten


class Counting(TorchDispatchMode):
    """Adds up the work of every op that runs."""

    def __init__(self):
        super().__init__()
        self.works = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.works.append((func.overloadpacket, work_of(func, args, kwargs, result)))
        return result


def counted(program):
    with Counting() as counting:
        program()
    return counting.works


def work(func, *args, **kwargs):
    return work_of(func, args, kwargs, func(*args, **kwargs))


def test_a_product_counts_two_operations_a_pair_and_three_matrices():
    a, b = torch.ones(3, 5), torch.ones(5, 7)
    assert work(aten.mm.default, a, b) == (2 * 3 * 5 * 7, 4 * (15 + 35 + 21), "float32")
    bias = torch.ones(7)
    assert work(aten.addmm.default, bias, a, b) == (2 * 3 * 5 * 7, 4 * (15 + 35 + 21 + 7), "float32")
    assert work(aten.bmm.default, torch.ones(2, 3, 5), torch.ones(2, 5, 7)).flops == 2 * 2 * 3 * 5 * 7
    assert work(aten.addmm_.default, torch.ones(3, 7), a, b).flops == 2 * 3 * 5 * 7
    assert work(aten.mm.out, a, b, out=torch.ones(3, 7)).flops == 2 * 3 * 5 * 7
    assert work(aten.mm.default, a.bfloat16(), b.bfloat16()).dtype == "bfloat16"


def test_an_elementwise_op_reads_its_inputs_and_writes_its_result():
    a, row = torch.ones(4, 6), torch.ones(6)
    assert work(aten.add.Tensor, a, row) == (24, 4 * (24 + 6 + 24), "float32")
    assert work(aten.add_.Tensor, a, row) == (24, 4 * (24 + 6 + 24), "float32")
    assert work(aten.sum.default, a) == (24, 4 * 25, "float32")
    assert work(aten._foreach_add.List, [a, a], [a, a]).bytes == 6 * 96


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (aten.view.default, ([24],)),
        (aten.transpose.int, (0, 1)),
        (aten.expand.default, ([2, 4, 6],)),
        (aten.detach.default, ()),
        (aten._unsafe_view.default, ([24],)),
        (aten.empty_like.default, ()),
        (aten.select.int, (0, 1)),
    ],
)
def test_views_metadata_and_empty_cost_nothing(func, args):
    assert work(func, torch.ones(4, 6), *args)[:2] == (0, 0)


def test_what_is_overwritten_is_not_read():
    a = torch.ones(4, 6)
    assert work(aten.zero_.default, a).bytes == 96
    assert work(aten.uniform_.default, a).bytes == 96
    assert work(aten.copy_.default, a, torch.ones(4, 6)).bytes == 192
    assert work(aten.zeros.default, [4, 6]).bytes == 96


def test_a_lookup_reads_the_rows_it_gives_not_the_table():
    table, rows = torch.ones(10_000, 8), torch.tensor([1, 2])
    assert work(aten.embedding.default, table, rows).bytes == 2 * 2 * 8 * 4
    assert work(aten.index_select.default, table, 0, rows).bytes == 2 * 2 * 8 * 4
    assert work(aten.index_put_.default, table, [rows], torch.ones(2, 8)).bytes == 2 * (2 * 8 * 4 + 2 * 8)


def test_tf32_follows_torchs_own_switches():
    a = torch.ones(4, 4)
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        assert work(aten.mm.default, a, a).dtype == "tfloat32"
        assert work(aten.mm.default, a.double(), a.double()).dtype == "float64"
        torch.backends.cuda.matmul.allow_tf32 = False
        assert work(aten.mm.default, a, a).dtype == "float32"
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def test_settings_of_a_convolution_are_told_apart_though_the_shapes_agree():
    x, w = torch.ones(1, 4, 8, 8), torch.ones(4, 4, 3, 3)
    settings = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    plain = work(aten.convolution.default, x, w, None, *settings)
    assert plain.flops == 2 * 64 * 4 * 4 * 9
    grouped = work(aten.convolution.default, x, torch.ones(4, 1, 3, 3), None, *settings[:-1], 4)
    assert grouped.flops == plain.flops / 4
    strided = work(aten.convolution.default, x, w, None, [2, 2], *settings[1:])
    assert strided.flops == plain.flops / 4


def training():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5)
    )
    torch.nn.functional.cross_entropy(model(torch.randn(2, 1, 8, 8)), torch.tensor([1, 2])).backward()


def test_a_training_step_counts_the_products_that_torchs_own_counter_counts():
    with FlopCounterMode(display=False) as counter:
        training()
    works = counted(training)
    products = {packet for packet, _ in works if packet in counter.flop_registry}
    assert {aten.addmm, aten.mm, aten.convolution, aten.convolution_backward} <= products
    assert sum(amount.flops for packet, amount in works if packet in products) == counter.get_total_flops()


@pytest.mark.parametrize("heads", [4, 2, 1])
def test_attention_counts_as_on_a_gpu_though_the_cpu_has_a_kernel_of_its_own(heads):
    q, k = (torch.randn(2, count, 16, 8, requires_grad=True) for count in (4, heads))

    def attention():
        torch.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=heads < 4).sum().backward()

    product = 2 * 2 * 4 * 16 * 16 * 8
    flops = {packet: amount.flops for packet, amount in counted(attention)}
    forward = flops.get(aten._scaled_dot_product_flash_attention_for_cpu)
    backward = flops.get(aten._scaled_dot_product_flash_attention_for_cpu_backward)
    assert (forward, backward) == (2 * product, 5 * product)


def test_an_lstm_counts_its_products_whichever_kernel_the_cpu_has_for_it():
    steps, batch, width, hidden = 5, 3, 8, 4
    lstm, x = torch.nn.LSTM(width, hidden), torch.ones(steps, batch, width)
    products = 2 * steps * batch * 4 * hidden * (width + hidden)
    works = counted(lambda: lstm(x)[0].sum().backward())
    large = [amount.flops for packet, amount in works if amount.flops >= 2 * batch * 4 * hidden * hidden]
    assert products <= sum(large) <= 3.5 * products  # backward: twice as many, and what is elementwise


@settings(max_examples=60)
@given(st.tuples(*[st.integers(1, 9)] * 3), st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
def test_more_of_everything_never_costs_less(shape, dtype):
    m, k, n = shape
    small = work(aten.mm.default, torch.ones(m, k, dtype=dtype), torch.ones(k, n, dtype=dtype))
    large = work(aten.mm.default, torch.ones(m + 1, k, dtype=dtype), torch.ones(k, n, dtype=dtype))
    assert small.flops < large.flops and small.bytes < large.bytes
    assert small.bytes == dtype.itemsize * (m * k + k * n + m * n)


def test_shapes_that_never_repeat_do_not_fill_the_memory():
    from simgpu.ops import flops_and_bytes

    single = torch.ones(1, 1)
    for _ in range(3):
        for key in range(3000):
            flops_and_bytes._counted[(aten.mm.default, key)] = None
        work(aten.mm.default, single, torch.ones(1, len(flops_and_bytes._counted) % 7 + 1))
    assert len(flops_and_bytes._counted) <= 4096 + 3000
