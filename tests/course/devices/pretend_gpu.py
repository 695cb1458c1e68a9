"""A second device for machines without one: torch's PrivateUse1 backend in Python, known to the course as /gpu:0.

Real dispatch, real autograd, numbers kept on the CPU. Registering a backend marks a whole process, so tests run this
file as a program of its own: it plays each scenario and prints what came out as one line of JSON.
"""

import json
import threading

import torch
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("pretend")
HERE = torch.device("pretend", 0)


class Pretend(torch.Tensor):
    """A tensor that says it is on the pretend device; `inner`, on the CPU, has the numbers."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=HERE, strides=inner.stride()
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.erfinv.default:  # the op that this device lacks
            raise NotImplementedError("Could not run 'aten::erfinv' with arguments from the 'pretend' backend.")
        kwargs = dict(kwargs or {})
        if func is torch.ops.aten._to_copy.default:
            return copied(args[0], **kwargs)
        if func is torch.ops.aten.copy_.default:
            unwrapped(args[0]).copy_(unwrapped(args[1]))
            return args[0]
        tensors = [x for x in args if isinstance(x, torch.Tensor) and x.dim() > 0]
        if len({x.device for x in tensors}) > 1:
            raise RuntimeError("Expected all tensors to be on the same device")
        if kwargs.get("device") is not None:
            kwargs["device"] = "cpu"
        made = func(*tree_map(unwrapped, args), **tree_map(unwrapped, kwargs))
        if func._schema.is_mutable:
            return kwargs.get("out", args[0])
        return tree_map(lambda x: Pretend(x) if isinstance(x, torch.Tensor) else x, made)


def unwrapped(value):
    return value.inner if isinstance(value, Pretend) else value


def copied(tensor, device=None, **kwargs):
    made = torch.ops.aten._to_copy.default(unwrapped(tensor), **kwargs)
    goes_there = isinstance(tensor, Pretend) if device is None else device.type == "pretend"
    return Pretend(made) if goes_there else made


def register():
    """Give the backend the kernels that run without a Pretend among the inputs."""
    torch.library.impl("aten::_to_copy", "privateuseone")(copied)
    for op in ("empty.memory_format", "empty_strided"):
        name, _, overload = op.partition(".")
        kernel = getattr(getattr(torch.ops.aten, name), overload or "default")
        torch.library.impl(f"aten::{op}", "privateuseone")(
            lambda *args, kernel=kernel, **kwargs: Pretend(kernel(*args, **{**kwargs, "device": "cpu"}))
        )


def know_it():
    """Tell the course that this machine has a /gpu:0, and that torch calls it pretend."""
    from course.devices import device_list, names

    names.KINDS["gpu"] = "pretend"
    device_list._gpus = lambda: [device_list.Device("/gpu:0", "gpu", 2**30, "pretend", simulated=True)]


def facts_of(log):
    return [(r.op, r.device, r.bytes_moved, r.backward) for r in log]


def network(device):
    """Return loss, gradients and log of a network whose parameters are CPU leaves and whose ops run on `device`."""
    from course import log_placement, place

    torch.manual_seed(0)
    x, w, v = torch.randn(5, 4), torch.randn(4, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
    with log_placement() as log, place(device) as placement:
        loss = ((x @ w).relu() @ v).square().sum()
        loss.backward()
    return loss, (w.grad, v.grad), log, placement


def scenarios():
    from course import list_devices, log_placement, place

    yield "names", [d.name for d in list_devices()]
    there, gradients, log, placement = network("/gpu:0")
    here, expected, _, _ = network("/cpu:0")
    yield "loss device", str(there.device)
    yield "gradient devices", [str(g.device) for g in gradients]
    yield "gradients agree", all(torch.allclose(a, b) for a, b in zip(gradients, expected, strict=True))
    yield "loss agrees", torch.allclose(there.cpu(), here)
    yield "log", facts_of(log)
    yield "moved", [placement.moves, placement.bytes_moved]
    split, _, log, _ = network(lambda op: "/gpu:0" if op.name == "matmul" else "/cpu:0")
    yield "device function", [str(split.device), sorted({(r.op, r.device) for r in log.forward if r.op != "_to_copy"})]

    cpu, gpu = torch.ones(3), torch.ones(3).to(HERE)
    with place("/gpu:0"):
        cpu.add_(gpu)
        cpu[0] = gpu[1] + 6
        yield "a getter", str(cpu.device)
        yield "said so", [str(torch.zeros(2, device="cpu").device), str((cpu + 1).to("cpu").device)]
        yield "made", [str(t.device) for t in (torch.zeros(2), torch.zeros_like(cpu), torch.tensor([1.0]))]
        cpu.view(-1).mul_(2)
        torch.add(cpu, gpu, out=cpu)
    yield "in place", [str(cpu.device), cpu.tolist()]
    yield "other layers", layers()
    x = torch.full((2,), 0.5)
    try:
        with place("/gpu:0"):
            torch.erfinv(x)
    except NotImplementedError as error:
        yield "no kernel", str(error)
    with log_placement() as log, place("/gpu:0", soft=True):
        y = torch.erfinv(x) + 1
    yield "soft", [str(y.device), [(r.op, r.device, r.note) for r in log]]
    yield "another thread", in_a_thread(place("/gpu:0"), log_placement())


def layers():
    """Train a step with layers whose state is written in place while their ops run on the other device."""
    from course import place

    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    optimiser = torch.optim.Adam(model.parameters())
    before = [p.detach().clone() for p in model.parameters()]
    with place("/gpu:0"):
        model(torch.randn(8, 4)).square().sum().backward()
        optimiser.step()
    changed = [not torch.equal(p.detach(), q) for p, q in zip(model.parameters(), before, strict=True)]
    with place("/gpu:0"):
        built_there = str(torch.nn.Linear(2, 2).weight.device)
    return [any(changed), model[1].running_mean.abs().sum().item() > 0, built_there]


def in_a_thread(placement, log):
    """Return where an op ran in a second thread: before it entered the placement, and after."""
    x, seen = torch.ones(2), []

    def work():
        seen.append(str((x + 1).device))
        with placement, log:
            seen.append(str((x + 1).device))

    with placement, log:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    return [seen, [(r.op, r.device) for r in log]]


if __name__ == "__main__":
    register()
    know_it()
    print(json.dumps(dict(scenarios())))
