"""The placement log: every op, forward and backward, in order, with what it moved."""

import gc
import json
import threading
import weakref

import pytest
import torch

from course.devices import log_placement, place
from simgpu import simulated_gpus


def network():
    """Return a loss of two linear layers, its parameters gradient-hungry CPU leaves."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    return model(torch.ones(5, 4)).square().mean()


def test_one_record_an_op_in_the_order_they_ran():
    a = torch.ones(2, 3)
    with log_placement() as log:
        b = a.t()
        c = a @ b
        c.add_(1)
        c.sum().item()
    assert [r.op for r in log] == ["t", "mm", "add_", "sum", "_local_scalar_dense"]
    assert [r.view for r in log] == [True, False, False, False, False]
    product = log[1]
    assert (product.shapes, product.made) == (((2, 3), (3, 2)), ((2, 2),))
    assert (product.device, product.dtype, product.bytes_moved, product.origin) == ("/cpu:0", "float32", 0, None)


def test_backward_ops_are_recorded_and_marked():
    with log_placement() as log:
        loss = network()
        before = len(log)
        loss.backward()
    assert {r.op for r in log.backward} >= {"mm", "threshold_backward", "sum", "t"}
    assert sum(r.op == "mm" for r in log.backward) == 3, "two weights and one hidden layer"
    assert not any(r.backward for r in log[:before])
    # The engine is given its first gradient, a one, before its pass begins.
    assert [r.op for r in log[before:] if not r.backward] == ["ones_like"]


def test_as_many_ops_are_seen_as_torchs_own_profiler_counts():
    with torch.profiler.profile(acc_events=True) as profile:  # without it torch 2.11 warns
        network().backward()
    with log_placement() as log:
        network().backward()
    names = {r.op for r in log}
    for op in names & {"mm", "addmm", "threshold_backward", "relu", "pow", "mul"}:
        counted = sum(e.count for e in profile.key_averages() if e.key == f"aten::{op}")
        assert counted == sum(r.op == op for r in log), op


def test_ops_of_a_python_autograd_function_are_backward_ops_too():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    x = torch.ones(3, requires_grad=True)
    with log_placement() as log:
        Double.apply(x).sum().backward()
    assert [r.backward for r in log if r.op == "mul"] == [False, True]


def test_a_copy_between_devices_is_counted_in_bytes_with_its_origin():
    a = torch.ones(10, 10)
    with log_placement() as log:
        b = a.to("meta")
        torch.empty(10, 10, device="meta").copy_(a)
        torch.zeros_like(a, device="meta")
        a.to(torch.float64)
        _ = b + 1
    counted = [(r.op, r.device, r.bytes_moved, r.origin) for r in log if r.bytes_moved]
    assert counted == [("_to_copy", "/meta:0", 400, "/cpu:0"), ("copy_", "/meta:0", 400, "/cpu:0")]
    assert log.bytes_moved == 800


def test_printed_it_is_one_line_an_op_and_the_same_every_time():
    def run():
        with log_placement() as log, place("meta"):
            _ = torch.ones(2, 3, device="cpu").relu()
        return log

    assert str(run()).splitlines() == [
        "ones      /cpu:0   -> (2, 3)         float32",
        "_to_copy  /meta:0  (2, 3) -> (2, 3)  float32  24 bytes from /cpu:0, for relu",
        "relu      /meta:0  (2, 3) -> (2, 3)  float32",
    ]
    assert repr(run()) == "PlacementLog(3 ops forward, 0 backward, 24 bytes moved)"
    assert run()._repr_mimebundle_() == run()._repr_mimebundle_()
    assert "<td>relu</td>" in run()._repr_mimebundle_()["text/html"]


def test_an_empty_log_prints_nothing_and_moves_nothing():
    log = log_placement()
    assert (str(log), len(log), log.bytes_moved) == ("", 0, 0)
    assert repr(log) == "PlacementLog(0 ops forward, 0 backward, 0 bytes moved)"


def test_lists_of_tensors_keyword_tensors_and_several_results_are_seen():
    a = torch.ones(2)
    with log_placement() as log:
        torch.cat([a, a])
        torch.add(a, other=a, out=torch.empty(2))
        torch.ones(2, 2).max(dim=0)
        torch._foreach_add([a, a], 1)
    found = {r.op: (r.shapes, r.made) for r in log}
    assert found["cat"] == (((2,), (2,)), ((4,),))
    assert found["max"] == (((2, 2),), ((2,), (2,)))
    assert found["_foreach_add"] == (((2,), (2,)), ((2,), (2,)))


def test_a_log_keeps_no_tensor_alive():
    with log_placement() as log:
        big = torch.ones(3) + 1
    gone = weakref.ref(big)
    del big
    gc.collect()
    assert gone() is None and len(log) == 2


def test_logs_nest_go_on_when_entered_again_and_are_left_when_their_block_fails():
    with log_placement() as outer:
        torch.ones(1)
        with log_placement() as inner:
            torch.ones(2)
        torch.ones(3)
    assert (len(outer), len(inner)) == (3, 1)
    with pytest.raises(ZeroDivisionError), inner:
        torch.ones(4)
        raise ZeroDivisionError
    torch.ones(5)
    assert (len(outer), len(inner)) == (3, 2)


def test_a_log_is_this_threads_until_another_thread_enters_it():
    log = log_placement()

    def work(enter):
        if enter:
            with log:
                torch.ones(2)
        else:
            torch.ones(1)

    with log:
        for enter in (False, True):
            thread = threading.Thread(target=work, args=(enter,))
            thread.start()
            thread.join(60)
    assert [r.made for r in log] == [((2,),)]


def test_code_made_for_the_compiler_runs_under_a_log_op_by_op_and_is_right():
    """torch.compile itself declines to compile below a dispatch mode; with fullgraph=True it says so."""
    compiled = torch.compile(lambda x: torch.cat([x * 2]).relu().sum(), backend="eager")
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):  # with torch's compiler loaded after the log was entered, and before
        with log_placement() as log:
            total = compiled(x)
            total.backward()
        assert total.item() == 6
        assert [r.op for r in log.forward if not r.view][:4] == ["mul", "cat", "relu", "sum"]
        assert "threshold_backward" in [r.op for r in log.backward]


def test_lines_are_in_the_manner_of_tensorflow():
    a = torch.ones(2, 2, requires_grad=True)
    with log_placement() as log, place("meta"):
        _ = torch.ones(2, device="cpu") * 3
    with log:
        ((a @ a) @ a).sum().backward()
    lines = log.lines()
    assert len(lines) == len(log)
    assert lines[1] == (
        "_to_copy: (_to_copy): /job:localhost/replica:0/task:0/device:META:0, "
        "8 bytes from /job:localhost/replica:0/task:0/device:CPU:0"
    )
    assert [line for line in lines if "(mm)" in line][:3] == [
        "mm: (mm): /job:localhost/replica:0/task:0/device:CPU:0",
        "mm_1: (mm): /job:localhost/replica:0/task:0/device:CPU:0",
        "gradients/mm: (mm): /job:localhost/replica:0/task:0/device:CPU:0",
    ]
    assert log.lines("/job:worker/task:3")[-1].endswith("/job:worker/replica:0/task:3/device:CPU:0")


def test_rows_are_plain_values_ready_for_a_data_frame():
    with log_placement() as log:
        network().backward()
    rows = log.rows()
    assert len(rows) == len(log) and [row["op"] for row in rows] == [record.op for record in log]
    assert json.loads(json.dumps(rows))[-1].keys() == rows[0].keys()
    assert rows[0]["seconds"] is None


def test_seconds_are_unknown_until_asked_for_and_then_measured_on_the_cpu_only():
    with log_placement() as log:
        torch.ones(2) + 1
    assert [(r.seconds, r.seconds_kind) for r in log] == [(None, "")] * 2
    with log_placement(timed=True) as log:
        torch.ones(2).to("meta") + 1
    assert [r.seconds_kind for r in log] == ["measured", "", ""], "another device goes on working after a call"
    assert 0 < log[0].seconds < 60 and "measured" in str(log)


def test_on_simulated_gpus_each_op_is_marked_and_has_the_clocks_seconds():
    with simulated_gpus(2) as gpus:
        x = torch.ones(64, 64, requires_grad=True)
        with log_placement() as log, place("/gpu:1") as placement:
            (x @ x).sum().backward()
        model = gpus.model
    ran = [(r.op, r.device, r.backward) for r in log if not r.view]
    assert ran == [
        ("_to_copy", "/gpu:1", False),
        ("mm", "/gpu:1", False),
        ("sum", "/gpu:1", False),
        ("ones_like", "/gpu:1", False),
        ("mm", "/gpu:1", True),
        ("mm", "/gpu:1", True),
        ("add", "/gpu:1", True),
        ("_to_copy", "/cpu:0", True),
    ]
    assert (str(x.grad.device), placement.bytes_moved, log.bytes_moved) == ("cpu", 64 * 64 * 4, 2 * 64 * 64 * 4)
    busy = [r for r in log if not r.view]
    assert all(r.simulated and r.seconds_kind == "modelled" and r.seconds >= model.launch for r in busy)
    assert all(r.seconds is None for r in log if r.view)
    for shown in (str(log), log._repr_mimebundle_()["text/html"], "\n".join(log.lines()), log.graph().html):
        assert "simulated" in shown
    assert str(log).count("modelled") == len(busy) + 1 and model.origin in str(log)


def test_who_waits_and_where_a_number_went_stand_in_the_line():
    with simulated_gpus(1) as gpus:
        x = torch.ones(8, 8, device="cuda")
        with log_placement() as log:
            x.nonzero(), x[x > 0], x[torch.tensor([0, 1])], bool(x.any()), x.sum().item()
        launch = gpus.model.launch
    said = {place: record.remarks for place, record in enumerate(log) if record.waits}
    assert [log[place].op for place in said] == ["nonzero", "index", *["_local_scalar_dense"] * 2], "not with indices"
    assert list(said.values())[2:] == [f"{size} to /cpu:0, waits for the GPU" for size in ("1 byte", "4 bytes")]
    assert log[0].launch == launch and log[0].seconds > launch
    assert f"µs + {launch * 1e6:.1f} µs launch modelled" in log[0].seconds_text
    with log_placement() as here:
        torch.ones(3).sum().item()
    assert [record.waits for record in here] == [False] * 3 and here[-1].shape_text == "() -> a number"


def test_a_profilers_marks_are_no_ops():
    with log_placement() as log, torch.autograd.profiler.record_function("a step"):
        torch.ones(2) + 1
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)])
        optimizer.step()
    assert [record.op for record in log] == ["ones", "add", "ones"] and len(log) == 3


def test_a_loops_ops_are_kept_once():
    x = torch.ones(4)
    with log_placement() as log:
        for _ in range(500):
            x.add_(1)
    assert len(log) == 500 and len(log._ops.stored) == 1


def test_what_the_log_costs_is_measured_and_says_so():
    with log_placement() as log:
        torch.ones(2) + 1
    cost = log.overhead()
    assert 0 <= cost.seconds_an_op < 0.01 and cost.ops == 2 and cost.seconds == 2 * cost.seconds_an_op
    assert "measured on this machine" in repr(cost)


def test_sparse_tensors_are_logged_too():
    with log_placement() as log:
        torch.eye(3).to_sparse() @ torch.ones(3, 1)
    assert log[-1].made == ((3, 1),) and log.edges()
