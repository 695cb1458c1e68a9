"""Placement: ops go where they are told, inputs follow differentiably, what must stay stays."""

import threading

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from course.devices import list_devices, log_placement, place
from course.devices.rules import Rule, plan_for
from simgpu import simulated_gpus


@pytest.fixture
def gpus():
    with simulated_gpus(2) as gpus:
        yield gpus


# Two devices that compute.


def network(device):
    """Return loss, gradients, log and placement of a network of CPU leaves whose ops run on `device`."""
    torch.manual_seed(0)
    x, w, v = torch.randn(5, 4), torch.randn(4, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
    with log_placement() as log, place(device) as placement:
        loss = ((x @ w).relu() @ v).square().sum()
        loss.backward()
    return loss, (w.grad, v.grad), log, placement


def test_ops_run_where_they_are_told_and_the_gradient_of_a_cpu_leaf_comes_back(gpus):
    here, expected, _, _ = network("/cpu:0")
    there, gradients, log, placement = network("/gpu:0")
    assert str(there.device) == "cuda:0" and torch.allclose(there.cpu(), here)
    for gradient, wanted in zip(gradients, expected, strict=True):
        assert gradient.device.type == "cpu" and torch.allclose(gradient, wanted)
    moves = [(r.device, r.bytes_moved, r.backward) for r in log if r.op == "_to_copy"]
    forward = [("/gpu:0", 80, False), ("/gpu:0", 48, False), ("/gpu:0", 24, False)]
    assert moves == [*forward, ("/cpu:0", 24, True), ("/cpu:0", 48, True)]
    assert (placement.moves, placement.bytes_moved) == (3, 152)
    products = [(r.device, r.backward) for r in log if r.op == "mm"]
    assert products == [("/gpu:0", False)] * 2 + [("/gpu:0", True)] * 3


def test_new_tensors_are_made_on_the_device_and_an_explicit_device_wins(gpus):
    cpu = torch.ones(3)
    with place("/gpu:0"):
        made = torch.zeros(2), torch.zeros_like(cpu), torch.tensor([1.0])
        explicit = torch.zeros(2, device="cpu"), (cpu + 1).to("cpu")
        assert cpu.device.type == "cpu", "a getter tells where the tensor is"
    assert [str(t.device) for t in made] == ["cuda:0"] * 3
    assert [str(t.device) for t in explicit] == ["cpu"] * 2


def test_in_place_ops_views_and_out_follow_their_target(gpus):
    cpu, gpu = torch.ones(3), torch.ones(3, device="cuda:0")
    with place("/gpu:0"):
        cpu.add_(gpu)
        cpu[0] = gpu[1] + 6
        cpu.view(-1).mul_(2)
        torch.add(cpu, gpu, out=cpu)
    assert (cpu.device.type, cpu.tolist()) == ("cpu", [15.0, 5.0, 5.0])


def test_optimisers_and_running_statistics_write_to_the_tensors_they_own(gpus):
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    optimiser = torch.optim.Adam(model.parameters())
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with place("/gpu:0"):
        model(torch.randn(8, 4)).square().sum().backward()
        optimiser.step()
    assert any(not torch.equal(p.detach(), q) for p, q in zip(model.parameters(), before, strict=True))
    assert model[1].running_mean.abs().sum() > 0 and model[1].running_mean.device.type == "cpu"


def test_another_thread_is_not_placed_until_it_enters_the_placement_itself(gpus):
    placement, x, devices = place("/gpu:0"), torch.ones(2), []

    def work():
        devices.append(str((x + 1).device))
        with placement:
            devices.append(str((x + 1).device))

    with placement:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    assert devices == ["cpu", "cuda:0"]


# The same rules on any machine, with torch's meta device: shapes and no numbers.


def way_back(tensor):
    """Return the names of the autograd nodes from `tensor` along first inputs to its leaf."""
    names, node = [], tensor.grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def test_a_move_is_a_node_of_the_autograd_graph():
    leaf = torch.ones(2, 2, requires_grad=True)
    with place("meta"):
        product = leaf @ torch.ones(2, 2)
    assert product.device.type == "meta"
    assert way_back(product) == ["MmBackward0", "ToCopyBackward0", "torch::autograd::AccumulateGrad"]


def test_what_the_placement_counts_is_what_the_log_saw_moved():
    a, b = torch.ones(10, 10), torch.ones(10, 10)
    with log_placement() as log, place("meta") as placement:
        _ = a @ a
        _ = torch.cat([a, b, a])
        _ = torch.where(condition=a > 0, input=a, other=b)
    copies = [r.bytes_moved for r in log if r.op == "_to_copy"]
    # a; a and b; a, for the comparison, and then a and b
    assert copies == [400] * 6
    assert (placement.moves, placement.bytes_moved) == (len(copies), sum(copies))


@given(st.lists(st.sampled_from(["/cpu:0", "meta"]), min_size=3, max_size=5))
def test_each_placement_left_gives_way_to_the_one_around_it(devices):
    def run():
        return (torch.ones(2, device="cpu") + 1).device.type

    def nest(rest):
        if not rest:
            return []
        with place(rest[0]):
            entered = run()
            return [entered, *nest(rest[1:]), run()]

    within = [torch.device(device.strip("/")).type for device in devices]
    assert nest(devices) == [*within, *reversed(within)]
    assert run() == "cpu"


def test_a_placement_entered_inside_itself_is_left_when_its_block_fails():
    with pytest.raises(ZeroDivisionError), place("meta") as placement, placement:
        raise ZeroDivisionError
    assert (torch.ones(2) + 1).device.type == "cpu"


def test_a_function_can_be_placed_as_a_whole():
    @place("meta")
    def double(x):
        """Twice x."""
        return x * 2

    assert double(torch.ones(2)).device.type == "meta"
    assert (double.__name__, double.__doc__) == ("double", "Twice x.")


def test_a_generator_cannot_be_placed_as_a_whole():
    def counting():
        yield torch.ones(1)

    with pytest.raises(TypeError, match="Use `with place"):
        place("/cpu:0")(counting)


def test_a_device_function_gets_name_and_inputs_and_may_leave_an_op_alone():
    asked = []

    def choose(op):
        asked.append((op.name, [tuple(t.shape) for t in op.inputs]))
        return "meta" if op.name == "matmul" else None

    a, b = torch.ones(2, 3), torch.ones(3, 4)
    with place(choose):
        total = (a + 1).sum()
        product = a @ b
        joined = torch.cat([a, a])
        filled = torch.zeros(5)
    assert asked == [
        ("add", [(2, 3)]),
        ("sum", [(2, 3)]),
        ("matmul", [(2, 3), (3, 4)]),
        ("cat", [(2, 3), (2, 3)]),
        ("zeros", []),
    ]
    assert [t.device.type for t in (total, product, joined, filled)] == ["cpu", "meta", "cpu", "cpu"]


def test_the_engine_of_autograd_is_not_placed():
    w = torch.ones(3, requires_grad=True)
    with place(lambda op: pytest.fail(f"asked about {op.name}") if "backward" in op.name else None):
        (w * 2).sum().backward()
        assert torch.autograd.grad((w * 3).sum(), w)[0].tolist() == [3, 3, 3]
    assert w.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.shape,
        lambda x: x.device,
        lambda x: x.item(),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: float(x),
        lambda x: bool(x),
        lambda x: len(x),
        lambda x: repr(x),
        lambda x: f"{x}",
        lambda x: x.requires_grad_(False),
        lambda x: x.numel(),
        lambda x: x.t(),
        lambda x: x.view(1),
        lambda x: x[0],
        lambda x: x.to(torch.float64),
        lambda x: x.float(),
        lambda x: x.detach(),
        lambda x: list(x),
        lambda x: x.is_contiguous(),
    ],
)
def test_questions_views_and_conversions_move_nothing(ask):
    x = torch.ones(1)
    with place("meta") as placement:
        answer = ask(x)
    assert placement.moves == 0
    assert not isinstance(answer, torch.Tensor) or answer.device.type == "cpu"


@pytest.mark.parametrize(
    "compute",
    [
        lambda a: a + 1,
        lambda a: 2 - a,
        lambda a: a > 0,
        lambda a: a @ a,
        lambda a: a[torch.tensor([0])],
        lambda a: torch.einsum("ij,jk->ik", a, a),
        lambda a: torch.cat([a, a]),
        lambda a: F.linear(a, a),
        lambda a: F.softmax(a, dim=0),
        lambda a: F.cross_entropy(a, torch.tensor([0, 1])),
        lambda a: a.sum(dim=0),
        lambda a: torch.stack((a, a)),
        lambda a: torch.linalg.solve(a, a),
        lambda a: torch.ops.aten.mul(a, a),
        lambda a: torch.where(condition=a > 0, input=a, other=a),
        lambda a: torch.max(a, dim=0).values,
    ],
)
def test_every_way_to_write_an_op_is_placed(compute):
    with place("meta"):
        assert compute(torch.eye(2)).device.type == "meta"
    with place("/cpu:0"):
        assert compute(torch.eye(2)).device.type == "cpu"


def test_a_custom_op_is_placed_like_torchs_own_and_follows_what_it_writes():
    @torch.library.custom_op("test_placement::fill_with", mutates_args=("board",))
    def fill_with(value: float, board: torch.Tensor) -> None:
        board.fill_(value)

    board = torch.zeros(2)
    with place("meta"):
        fill_with(3.0, board)
    assert board.tolist() == [3, 3]


def test_a_device_that_is_not_there_is_refused_at_once_with_what_is():
    with pytest.raises(ValueError) as caught:
        place("/gpu:99")
    assert str(caught.value).splitlines() == [
        f"place(device='/gpu:99'): this machine has {', '.join(d.name for d in list_devices())}.",
        "Use one of these, pass soft=True to run on the CPU instead, or practise with simulated_gpus(100).",
    ]


def test_a_device_function_is_held_to_the_machine_too():
    with pytest.raises(ValueError, match="this machine has"), place(lambda op: "/gpu:99"):
        torch.ones(2)


def test_softly_a_missing_device_is_the_cpu_and_the_log_says_so():
    with log_placement() as log, place("/gpu:99", soft=True):
        made = torch.ones(2) + 1
    assert made.device.type == "cpu"
    assert {r.note for r in log} == {"asked for /gpu:99: not on this machine"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/job:worker/task:1/cpu:0", "cluster.at"),
        ("/task:1", "names a task"),
        ("/gpuu:0", "Nearest legal name: '/gpu:0'"),
    ],
)
def test_names_that_are_no_device_of_this_machine_say_what_to_do(name, says):
    with pytest.raises(ValueError, match=says):
        place(name)


@pytest.mark.parametrize("device", ["/job:localhost/replica:0/task:0/device:CPU:0", torch.device("cpu"), None])
def test_every_form_of_a_devices_name_is_taken(device):
    device = list_devices()[0] if device is None else device
    with place(device):
        assert (torch.ones(1) + 1).device.type == "cpu"


def test_one_placement_serves_many_threads_and_counts_for_all():
    placement, a = place("meta"), torch.ones(4)

    def work():
        with placement:
            for _ in range(50):
                _ = a + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (placement.moves, placement.bytes_moved) == (200, 3200)


def test_plans_agree_with_torchs_own_declarations():
    """Every overridable function whose name ends in `_` writes its target; every getter stays."""
    for functions in torch.overrides.get_overridable_functions().values():
        for function in functions:
            name, plan = function.__name__, plan_for(function)
            if name == "__get__":
                assert plan.rule is Rule.STAYS
            elif name.endswith("_") and not name.startswith("_") and hasattr(torch.ops.aten, name):
                assert plan.rule is Rule.FOLLOWS, name
