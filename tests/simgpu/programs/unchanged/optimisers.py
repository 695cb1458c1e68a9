"""Programs about optimisers: each of torch's in each of its ways, schedules, and steps of one's own."""

import inspect
import warnings

import torch
from torch import nn, optim
from torch.optim import lr_scheduler

from tests.simgpu.programs.harness import drawn, gpu, program, train

DENSE = {
    "Adadelta": {}, "Adagrad": {}, "Adam": {"amsgrad": True}, "AdamW": {}, "Adamax": {}, "NAdam": {}, "RAdam": {},
    "RMSprop": {"centered": True, "momentum": 0.5}, "Rprop": {}, "SGD": {"momentum": 0.9, "nesterov": True}, "ASGD": {},
}  # fmt: skip


def every(without=(), **way):
    """Train by every optimiser that takes the options `way` but for those `without`; return the losses of each."""
    device, results = gpu(), {}
    x = drawn(5, 3, device=device)
    start = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).state_dict()
    for name, options in DENSE.items():
        if name in without:
            continue
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        model.load_state_dict(start)
        model = model.to(device)
        try:
            results[name] = train(
                model, lambda m: (m(x) - 1).square().mean(), 3, getattr(optim, name), 0.01, **options, **way
            )
        except TypeError as error:  # this one has no such option
            assert "unexpected keyword argument" in str(error)
    return results


@program
def every_optimiser_as_it_chooses():
    return every()


@program
def every_optimiser_one_tensor_at_a_time():
    return every(foreach=False)


@program
def every_optimiser_many_tensors_at_a_time():
    return every(foreach=True, maximize=True)


@program
def every_optimiser_that_is_fused():
    on_the_cpu_alone = "cuda_unsupported" in inspect.getsource(optim.Adagrad)  # in torch 2.11
    return every(without=("Adagrad",) if on_the_cpu_alone else (), fused=True)


@program
def every_optimiser_as_a_graph_could_record_it():
    if not torch.cuda.is_available():  # the numbers are the same; the CPU can't record
        return {name: losses for name, losses in every().items() if name not in ("Adagrad", "SGD")}
    return every(capturable=True)


@program
def rates_that_are_tensors():
    device = gpu()
    model, x = nn.Linear(3, 1).to(device), drawn(4, 3, device=device)
    rate = torch.tensor(0.05, device=device)
    options = {"capturable": True} if device == "cuda" else {}
    optimiser = optim.AdamW(model.parameters(), lr=rate, **options)
    plan, results = lr_scheduler.ExponentialLR(optimiser, 0.5), []
    for _ in range(3):
        optimiser.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimiser.step()
        plan.step()
        results.append(loss)
    return results, plan.get_last_lr()[0]


@program
def rows_that_were_read_are_all_that_moves():
    device, results = gpu(), []
    rows = torch.tensor([1, 4, 1, 0], device=device)
    for kind in (optim.SparseAdam, optim.SGD, optim.Adagrad):
        table = nn.Embedding.from_pretrained(torch.arange(12.0).view(6, 2) / 10, freeze=False, sparse=True).to(device)
        with torch.sparse.check_sparse_tensor_invariants(True):
            results += train(table, lambda m: m(rows).square().sum(), 3, kind, 0.1)
        results.append(table.weight.detach())
    return results


@program
def factored_and_orthogonal_steps():
    device, results = gpu(), []
    for kind, options in ((optim.Adafactor, {}), (optim.Muon, {"weight_decay": 0.0})):
        weight = nn.Parameter((torch.arange(12.0).view(4, 3) / 12).to(device))
        optimiser = kind([weight], lr=0.02, **options)
        for _ in range(3):
            optimiser.zero_grad()
            (weight @ weight.t()).square().sum().backward()
            optimiser.step()
        results.append(weight)
    return results


@program
def every_schedule():
    device, results = gpu(), []
    plans = [
        lambda o: lr_scheduler.CosineAnnealingLR(o, 4), lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=5),
        lambda o: lr_scheduler.MultiStepLR(o, [1, 3]), lambda o: lr_scheduler.PolynomialLR(o, 4, 2.0),
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
        lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, step_size_up=2),
        lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.LinearLR(o, 0.1, total_iters=2), lr_scheduler.ConstantLR(o, 0.5)], [2]
        ),
        lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ExponentialLR(o, 0.9), lr_scheduler.StepLR(o, 2)]),
        lambda o: lr_scheduler.MultiplicativeLR(o, lambda step: 0.95),
    ]  # fmt: skip
    for make in plans:
        weight = nn.Parameter(torch.ones(2, device=device))
        optimiser = optim.SGD([weight], lr=0.1, momentum=0.9)
        plan = make(optimiser)
        for _ in range(4):
            optimiser.zero_grad()
            weight.square().sum().backward()
            optimiser.step()
            plan.step()
        results += [weight, optimiser.param_groups[0]["lr"]]
    return results


@program
def stepped_inside_the_backward_pass():
    device = gpu()
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)).to(device), drawn(4, 3, device=device)
    each = {p: optim.Adam([p], lr=0.05, foreach=False) for p in model.parameters()}

    def step(parameter):
        each[parameter].step()
        each[parameter].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)
    results = []
    for _ in range(3):
        loss = model(x).square().mean()
        loss.backward()
        results.append(loss.item())
    return results, [p.grad is None for p in model.parameters()]


@program
def swapped_averages_and_their_batch_norms():
    device = gpu()
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).to(device)
    x = drawn(8, 3, device=device)
    average = optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimiser = optim.SGD(model.parameters(), lr=0.1)
    plan = optim.swa_utils.SWALR(optimiser, anneal_epochs=2, swa_lr=0.02)
    for _ in range(3):
        optimiser.zero_grad()
        model(x).square().mean().backward()
        optimiser.step()
        average.update_parameters(model)
        plan.step()
    optim.swa_utils.update_bn(x.split(4), average, device=device)
    return average(x), average.module[1].running_mean, average.n_averaged


@program
def a_sharp_place_is_left():
    class Sharpness(optim.Optimizer):
        def __init__(self, params, base, rho=0.05, **options):
            super().__init__(params, dict(rho=rho, **options))
            self.base = base(self.param_groups, **options)

        @torch.no_grad()
        def up(self):
            norm = torch.norm(torch.stack([p.grad.norm(p=2) for g in self.param_groups for p in g["params"]]), p=2)
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["old"] = p.data.clone()
                    p.add_(p.grad * (group["rho"] / (norm + 1e-12)).to(p))

        @torch.no_grad()
        def down(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.data = self.state[p]["old"]
            self.base.step()

    device = gpu()
    model, x, results = nn.Linear(3, 2).to(device), drawn(4, 3, device=device), []
    optimiser = Sharpness(model.parameters(), optim.SGD, lr=0.1, momentum=0.9)
    for _ in range(3):
        for move in (optimiser.up, optimiser.down):
            optimiser.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            move()
        results.append(loss.item())
    return results


@program
def noisy_steps_and_hooks_of_an_optimiser():
    device, norms = gpu(), []
    model, noise = nn.Linear(2, 1).to(device), torch.randn(3, 1, 2)
    optimiser = optim.SGD(model.parameters(), lr=0.1)
    optimiser.register_step_pre_hook(lambda o, a, k: norms.append(o.param_groups[0]["params"][0].grad.norm()))
    after = optimiser.register_step_post_hook(lambda o, a, k: norms.append(model.weight.norm()))
    optimiser.add_param_group({"params": [extra := nn.Parameter(torch.ones(1, device=device))], "lr": 0.01})
    for step in range(3):
        loss = (model(torch.ones(2, device=device)) * extra).sum()
        with warnings.catch_warnings():
            optimiser.zero_grad()
            loss.backward()
        model.weight.grad.add_(noise[step].to(device), alpha=0.1)
        optimiser.step()
    after.remove()
    return norms, extra
