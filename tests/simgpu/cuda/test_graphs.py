"""CUDA graphs: a capture runs nothing, a replay runs all of it on the same memory with one launch."""

import gc

import pytest
import torch

from simgpu import simulated_gpus

CAPTURING = "^CUDA error: operation not permitted when stream is capturing"
INVALID = "^CUDA error: operation failed due to a previous error during capture"


@pytest.fixture
def gpus():
    with simulated_gpus(2) as gpus:
        yield gpus


def captured(program, **options):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = program()
    return graph, result


def numbers(*tensors):
    return [tensor.tolist() for tensor in tensors]


def test_a_capture_runs_nothing(gpus):
    x, total = torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")
    torch.cuda.synchronize()
    before, host = torch.cuda.get_rng_state(), gpus.clock.host

    def program():
        total.add_(x)
        x.zero_()
        return torch.rand(2, device="cuda"), torch.arange(3, device="cuda"), x + 1

    graph, (drawn, counted, more) = captured(program)
    assert gpus.clock.host == host, "and costs the GPU no time"
    assert numbers(x, total) == [[1, 1, 1], [0, 0, 0]]
    assert torch.equal(torch.cuda.get_rng_state(), before)
    assert drawn.isnan().all() and more.isnan().all() and not counted.any(), "memory that was never written"
    graph.replay()
    assert numbers(x, total, counted, more) == [[0, 0, 0], [1, 1, 1], [0, 1, 2], [1, 1, 1]]
    assert (drawn >= 0).all()


def test_a_replay_writes_into_the_tensors_that_the_program_holds(gpus):
    x = torch.zeros(2, 3, device="cuda")

    def program():
        doubled = x * 2
        row = doubled[1]  # a view: the same memory
        doubled.add_(1)
        return doubled, row, torch.stack([row, row]).sum(0)

    graph, (doubled, row, total) = captured(program)
    for start in (0.0, 10.0):
        x.copy_(torch.arange(6.0).reshape(2, 3) + start)
        graph.replay()
        assert torch.equal(doubled.cpu(), x.cpu() * 2 + 1)
        assert torch.equal(row.cpu(), doubled.cpu()[1])
        assert torch.equal(total.cpu(), 2 * row.cpu())


def test_a_replay_costs_one_launch_and_the_ops_own_seconds(gpus):
    x = torch.ones(1000, 1000, device="cuda")

    def program():
        y = x
        for _ in range(10):
            y = y.relu() + 1
        return y

    with gpus.clock.timed() as eager:
        program()
    graph, _ = captured(program)
    launched = gpus.clock.host
    graph.replay()
    assert gpus.clock.host - launched == pytest.approx(gpus.model.launch)
    with gpus.clock.timed() as replayed:
        graph.replay()
    busy = [span for span in gpus.clock.spans if span.start >= replayed.start and span.what == "work"]
    assert [span.name for span in busy] == ["relu", "add"] * 10
    assert replayed.seconds == pytest.approx(gpus.model.launch + sum(span.stop - span.start for span in busy))
    assert replayed.seconds < eager.seconds / 3


def test_each_replay_draws_other_random_numbers_and_the_seed_repeats_them(gpus):
    own = torch.Generator("cuda").manual_seed(5)
    graph, (shared, own_draws) = captured(
        lambda: (torch.rand(4, device="cuda"), torch.rand(4, device="cuda", generator=own))
    )
    draws = []
    for _ in range(2):
        torch.cuda.manual_seed(3)
        for _ in range(2):
            graph.replay()
            draws.append(numbers(shared))
    assert draws[0] == draws[2] and draws[1] == draws[3] and draws[0] != draws[1]
    first = torch.rand(4, device="cuda", generator=torch.Generator("cuda").manual_seed(5))
    fresh = torch.Generator("cuda").manual_seed(5)
    own.set_state(fresh.get_state())
    graph.replay()
    assert numbers(own_draws) == numbers(first)


WAITS = {
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.sum() > 0),
    "cpu": lambda x: x.cpu(),
    "print": print,
    "nonzero": lambda x: x.nonzero(),
    "a mask": lambda x: x[x > 0],
    "unique": lambda x: x.unique(),
    "synchronize": lambda x: torch.cuda.synchronize(),
    "a stream": lambda x: torch.cuda.current_stream().synchronize(),
    "a number of Python's": lambda x: torch.tensor([1.0], device="cuda"),
    "a pageable copy": lambda x: torch.ones(2).to("cuda", non_blocking=True),
    "a blocking copy of pinned memory": lambda x: x.copy_(torch.ones(4).pin_memory()),
    "another device": lambda x: torch.cuda.synchronize(1),
}


@pytest.mark.parametrize("name", WAITS)
def test_what_waits_is_refused_in_a_capture_and_all_is_as_before(gpus, name):
    x = torch.ones(4, device="cuda")
    before = torch.cuda.current_stream()
    state = torch.cuda.get_rng_state()

    def program():
        x.mul_(7)
        torch.rand(2, device="cuda")
        WAITS[name](x)

    with pytest.raises(torch.AcceleratorError, match=CAPTURING):
        captured(program)
    assert torch.cuda.current_stream() == before and not torch.cuda.is_current_stream_capturing()
    assert torch.equal(torch.cuda.get_rng_state(), state)
    assert numbers(x) == [[1, 1, 1, 1]]
    WAITS[name](x)
    graph, y = captured(lambda: x + 1)
    graph.replay()
    assert y.sum().item() == 4 + x.sum().item()


def test_another_error_in_a_capture_is_the_programs_own(gpus):
    x = torch.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match="shape|size"):
        captured(lambda: x @ torch.ones(5, device="cuda"))
    with pytest.raises(ZeroDivisionError):
        captured(lambda: x.add_(1 / 0))
    assert numbers(x) == [[1, 1, 1, 1]] and not torch.cuda.is_current_stream_capturing()


def test_after_an_error_the_capture_is_over_in_cudas_words(gpus):
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        with pytest.raises(torch.AcceleratorError, match=CAPTURING):
            x.tolist()
        assert torch.cuda.is_current_stream_capturing()
        with pytest.raises(torch.AcceleratorError, match=INVALID):
            x + 1
        with pytest.raises(torch.AcceleratorError, match=INVALID):
            graph.capture_end()
        assert not torch.cuda.is_current_stream_capturing()
    with pytest.raises(RuntimeError, match="^Called CUDAGraph::replay without a preceding successful capture."):
        graph.replay()


def test_what_torch_refuses_of_a_graph_is_refused_in_its_words(gpus):
    graph = torch.cuda.CUDAGraph()
    for call, name in ((graph.replay, "replay"), (graph.pool, r"pool\(\)")):
        with pytest.raises(RuntimeError, match=f"Called CUDAGraph::{name} without a preceding successful capture."):
            call()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match=r"capture_end\(\) called before capture_begin\(\)"):
        graph.capture_end()
    with torch.cuda.stream(torch.cuda.Stream()):
        with pytest.raises(RuntimeError, match="Unknown capture error mode. .* got loose"):
            graph.capture_begin(capture_error_mode="loose")
        graph.capture_begin()
        torch.zeros(1, device="cuda")
        with pytest.raises(torch.AcceleratorError, match=CAPTURING):
            torch.cuda.CUDAGraph().capture_begin()
        with torch.cuda.stream(torch.cuda.Stream()), pytest.raises(RuntimeError, match="on the same stream it began"):
            graph.capture_end()
        graph.capture_end()
        with pytest.raises(RuntimeError, match="already owns a captured graph"):
            graph.capture_begin()
        graph.reset()
        graph.capture_begin()
        torch.zeros(1, device="cuda")
        graph.capture_end()
    assert graph.pool()[0] > 0 and torch.cuda.graph_pool_handle()[1] > 0
    with pytest.raises(RuntimeError, match="needs a real one"):
        graph.raw_cuda_graph()


def test_streams_fork_and_join_in_a_capture(gpus):
    x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()

    def program():
        first = torch.cuda.current_stream()
        y = x + 1
        side.wait_stream(first)
        with torch.cuda.stream(side):
            assert side.is_capturing() and torch.cuda.is_current_stream_capturing()
            z = y * 2
        first.wait_stream(side)
        return z + 1

    graph, result = captured(program)
    x.fill_(3)
    graph.replay()
    assert numbers(result) == [[9, 9, 9, 9]] and not side.is_capturing()


def test_a_stream_that_is_not_joined_is_refused_and_one_from_outside_too(gpus):
    x, side, event = torch.ones(4, device="cuda"), torch.cuda.Stream(), torch.cuda.Event()

    def forks():
        y = x + 1
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y.mul_(2)

    before = torch.cuda.current_stream()
    with pytest.raises(torch.AcceleratorError, match="CUDA error: capturing stream has unjoined work"):
        captured(forks)
    with pytest.raises(torch.AcceleratorError, match="dependency created on uncaptured work in another stream"):
        captured(lambda: torch.cuda.current_stream().wait_stream(side))
    captured(lambda: (x + 1, event.record()))
    for ask in (event.query, event.synchronize, event.wait):
        with pytest.raises(torch.AcceleratorError, match="event last recorded in a capturing stream"):
            ask()
    assert torch.cuda.current_stream() == before


def test_work_of_a_stream_that_takes_no_part_is_done_at_once(gpus):
    x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()

    def program():
        with torch.cuda.stream(side):
            x.add_(1)

    with pytest.warns(UserWarning, match="The CUDA Graph is empty"):
        graph, _ = captured(program)
    assert numbers(x) == [[2, 2, 2, 2]]
    graph.replay()
    assert numbers(x) == [[2, 2, 2, 2]]


def test_copies_in_a_graph_read_and_write_pinned_memory_anew(gpus):
    x, elsewhere = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda:1")
    pinned, received = torch.zeros(4).pin_memory(), torch.zeros(4).pin_memory()

    def program():
        x.copy_(pinned, non_blocking=True)
        elsewhere.copy_(x * 2)
        received.copy_(x + 1, non_blocking=True)
        return x.to("cuda:1"), x.half(), (x + 2).to("cpu", non_blocking=True)

    graph, (second, half, host) = captured(program)
    assert numbers(x, elsewhere, received) == [[0] * 4] * 3
    pinned.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    assert numbers(x, elsewhere, received, second, half, host) == [[number] * 4 for number in (5, 10, 6, 5, 5, 7)]


@pytest.mark.parametrize("program", ["layers", "in_place", "inference"])
def test_values_are_those_of_the_ops_run_one_by_one(gpus, program):
    torch.manual_seed(0)
    image, steps = torch.randn(2, 3, 8, 8, device="cuda"), torch.randn(6, 2, 8, device="cuda")
    conv, norm = torch.nn.Conv2d(3, 4, 3).cuda(), torch.nn.BatchNorm2d(4).cuda().eval()
    rnn, attention = torch.nn.LSTM(8, 5).cuda(), torch.nn.MultiheadAttention(8, 2).cuda().eval()

    def layers():
        return norm(conv(image)), rnn(steps)[0], attention(steps, steps, steps)[0], *image.sort(), torch.fft.fft(steps)

    def in_place():
        x = torch.empty(6, 2, 8, device="cuda").zero_()
        x[1:3] = steps[:2]
        x[:, 0].index_add_(0, torch.arange(3, device="cuda"), steps[:3, 1])
        x.view(-1)[::2] *= 3
        return x, torch.cumsum(x, 0, out=torch.zeros_like(x))

    def inference():
        with torch.inference_mode():
            return (steps + 1).mul_(2), steps.softmax(-1)

    run = {"layers": layers, "in_place": in_place, "inference": inference}[program]
    with torch.no_grad():
        run()
        graph, result = captured(run)
        for fill in (image, steps):
            fill.normal_()
        for _ in range(2):
            graph.replay()
        expected = run()
    for ours, theirs in zip(result, expected, strict=True):
        assert torch.equal(ours.cpu(), theirs.cpu())


def test_a_result_that_lies_in_an_input_leaves_it_as_it_is(gpus):
    x = torch.ones(4, device="cuda")

    def program():
        y = x + 1
        return torch.ops.aten._unsafe_view(x, [2, 2]), torch.native_dropout(x, 0.5, False)[0], y.view(2, 2) + 1

    graph, result = captured(program)
    assert numbers(x, result[0]) == [[1] * 4, [[1, 1], [1, 1]]]
    x.fill_(3)
    graph.replay()
    assert numbers(x, *result) == [[3] * 4, [[3, 3], [3, 3]], [3] * 4, [[5, 5], [5, 5]]]


def test_a_replay_is_seen_by_no_backward_pass(gpus):
    source = torch.ones(3, requires_grad=True).pin_memory()
    with torch.inference_mode():
        inside = torch.zeros(3, device="cuda")
    x = torch.zeros(3, device="cuda")

    def program():
        with torch.inference_mode():
            inside.add_(1)
        with torch.no_grad():
            x.copy_(source, non_blocking=True)

    graph, _ = captured(program)
    graph.replay()
    assert numbers(x, inside) == [[1] * 3] * 2 and not x.requires_grad and not x.numbers.requires_grad


def test_running_means_are_not_touched_by_a_capture_and_move_with_each_replay(gpus):
    norm, x = torch.nn.BatchNorm1d(3).cuda(), torch.randn(8, 3, device="cuda")
    twin = torch.nn.BatchNorm1d(3).cuda()
    graph, _ = captured(lambda: norm(x))
    assert not norm.running_mean.any() and norm.num_batches_tracked.item() == 0
    for _ in range(2):
        graph.replay()
        twin(x)
    assert torch.equal(norm.running_mean.cpu(), twin.running_mean.cpu()) and norm.num_batches_tracked.item() == 2


def trained(graphed, optimizer):
    """Return the losses and weights of 5 steps after 3 to warm up, on a side stream as torch's documentation has it."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3)).cuda()
    step, loss_of = optimizer(model.parameters()), torch.nn.CrossEntropyLoss()
    batches = [(torch.randn(8, 5), torch.randint(0, 3, (8,))) for _ in range(8)]
    x, target = (tensor.cuda() for tensor in batches[0])
    side, losses = torch.cuda.Stream(), []

    def once():
        step.zero_grad(set_to_none=True)
        loss = loss_of(model(x), target)
        loss.backward()
        step.step()
        return loss

    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            once()
    torch.cuda.current_stream().wait_stream(side)
    run = once
    if graphed:
        graph, static = captured(once)

        def run():
            graph.replay()
            return static

    for inputs, targets in batches[3:]:
        x.copy_(inputs)
        target.copy_(targets)
        losses.append(run().item())
    return losses, [parameter.tolist() for parameter in model.parameters()]


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9),
        lambda parameters: torch.optim.Adam(parameters, 0.1, capturable=True),
        lambda parameters: torch.optim.AdamW(parameters, 0.1, capturable=True, foreach=True),
    ],
    ids=["SGD", "Adam", "AdamW foreach"],
)
def test_a_whole_training_step_in_a_graph_learns_what_it_learns_without(gpus, optimizer):
    assert trained(True, optimizer) == trained(False, optimizer)


def test_an_optimizer_that_counts_its_steps_on_the_host_is_refused_in_torchs_words(gpus):
    weight = torch.nn.Parameter(torch.ones(2, device="cuda"))
    weight.grad = torch.ones(2, device="cuda")
    step = torch.optim.Adam([weight])
    step.step()
    with pytest.raises(RuntimeError, match="Attempting CUDA graph capture of step.* capturable is False"):
        captured(step.step)


def test_graphed_callables_go_forward_and_back(gpus):
    torch.manual_seed(0)
    layer = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2)).cuda()
    x = torch.randn(3, 4, device="cuda", requires_grad=True)
    layer(x).square().sum().backward()
    expected = [x.grad.cpu(), *(parameter.grad.cpu() for parameter in layer.parameters())]
    layer.zero_grad(set_to_none=True)
    graphed = torch.cuda.make_graphed_callables(layer, (torch.zeros_like(x).requires_grad_(),))
    for _ in range(2):
        x.grad = None
        layer.zero_grad(set_to_none=True)
        graphed(x).square().sum().backward()
        gradients = [x.grad.cpu(), *(parameter.grad.cpu() for parameter in layer.parameters())]
        assert all(torch.allclose(ours, theirs) for ours, theirs in zip(gradients, expected, strict=True))


def test_the_graphs_memory_is_what_its_ops_need_at_a_time_and_goes_with_the_graph(gpus):
    x = torch.ones(2**20, device="cuda")  # 4 MiB
    torch.cuda.empty_cache()
    before, held, free = torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.mem_get_info()[0]

    def program():
        y = x
        for _ in range(10):
            y = y + 1  # two at a time, never ten
        return y

    graph, result = captured(program)
    assert torch.cuda.memory_allocated() - before == result.nbytes
    torch.cuda.empty_cache()
    extra = torch.cuda.memory_reserved() - held
    assert extra == result.nbytes, "the other one of the two"
    assert torch.cuda.mem_get_info()[0] == free - extra
    for _ in range(2):
        graph.replay()
    assert torch.cuda.memory_allocated() - before == result.nbytes and result[0].item() == 11
    del graph, result
    gc.collect()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.memory_reserved() == held and torch.cuda.mem_get_info()[0] == free


def test_what_a_graph_keeps_is_room_that_others_lack():
    from simgpu.environment import model

    with simulated_gpus(1, model=model("T4", "64MiB")):
        x = torch.ones(4 * 2**20, device="cuda")  # 16 MiB
        graph, y = captured(lambda: (x + 1).sum())  # 16 MiB of its own
        with pytest.raises(torch.OutOfMemoryError):
            torch.zeros(9 * 2**20, device="cuda")
        graph.replay()
        assert y.item() == 8 * 2**20
        del graph, y
        gc.collect()
        torch.zeros(9 * 2**20, device="cuda")


def test_an_index_that_is_wrong_at_a_replay_is_told_with_the_line_of_the_capture(gpus):
    x, at = torch.ones(4, device="cuda"), torch.zeros(2, dtype=torch.int64, device="cuda")
    graph, _ = captured(lambda: x[at] + 1)
    graph.replay()
    torch.cuda.synchronize()
    at.fill_(4)
    graph.replay()
    with pytest.raises(torch.AcceleratorError, match=r"index 4, where 0 to 3 are there.*\n.*captured\(lambda: x\[at\]"):
        torch.cuda.synchronize()


def test_a_graph_of_a_closed_simulation_is_refused_and_the_next_one_captures():
    for _ in range(2):
        with simulated_gpus(1):
            x = torch.ones(2, device="cuda")
            graph, y = captured(lambda x=x: x + 1)
            graph.replay()
            assert numbers(y) == [[2, 2]]
        with pytest.raises(RuntimeError, match="was closed"):
            graph.replay()


def test_a_collective_in_a_capture_is_refused_plainly(gpus):
    x = torch.ones(2, device="cuda")

    def program():
        torch.ops._c10d_functional.all_reduce(x, "sum", "0")

    with pytest.raises(NotImplementedError, match="all_reduce in a CUDA graph: simulated GPUs do not do this"):
        captured(program)


def test_a_log_of_the_program_sees_no_op_of_a_replay(gpus):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            ops.append(func)
            return func(*args, **(kwargs or {}))

    ops = []
    x = torch.ones(2, device="cuda")
    with Log():
        graph, _ = captured(lambda: x + 1)
        assert len(ops) == 1
        graph.replay()
        assert len(ops) == 1
