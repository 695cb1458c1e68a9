"""Programs on more than one GPU: replicas, pipelines, split layers, threads, ranks in processes of their own."""

import copy
import os
import socket
import threading

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

from tests.simgpu.programs.harness import drawn, gpu, program, train


def places():
    """Return two GPUs, or the CPU twice."""
    return ["cuda:0", "cuda:1"] if torch.cuda.device_count() > 1 else ["cpu", "cpu"]


@program
def replicas_by_data_parallel():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), drawn(6, 3)
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    model.to(device)
    x = x.to(device)
    return train(model, lambda m: m(x).square().mean()), [p.grad for p in model.parameters()]


@program
def layers_on_two_devices_with_micro_batches():
    first, second = places()

    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Sequential(nn.Linear(3, 6), nn.ReLU()).to(first)
            self.two = nn.Linear(6, 2).to(second)

        def forward(self, x):
            parts = iter(x.split(2, dim=0))
            before, results = self.one(next(parts)).to(second), []
            for part in parts:
                results.append(self.two(before))
                before = self.one(part).to(second)
            return torch.cat([*results, self.two(before)])

    x, y = drawn(6, 3).to(first), drawn(6, 2).to(second)
    return train(Split(), lambda m: F.mse_loss(m(x), y), optimiser=torch.optim.Adam)


@program
def a_layer_cut_along_its_columns():
    first, second = places()
    whole, x = nn.Linear(4, 6), drawn(3, 4)
    parts = [(whole.weight[:3].to(first), whole.bias[:3].to(first)), (whole.weight[3:].to(second), whole.bias[3:].to(second))]  # fmt: skip # noqa: E501
    outputs = [F.linear(x.to(w.device), w, b).relu() for w, b in parts]
    joined = torch.cat([part.to(first) for part in outputs], 1)
    joined.square().sum().backward()
    return joined, whole.weight.grad, whole.bias.grad, torch.equal(joined.cpu(), whole(x).relu())


@program
def gradients_meet_without_a_library():
    devices, model, x = places(), nn.Linear(3, 2), drawn(4, 3)
    replicas = [copy.deepcopy(model).to(device) for device in devices]
    optimisers, results = [torch.optim.Adam(m.parameters(), lr=0.1) for m in replicas], []
    for _ in range(2):
        for m, optimiser, part in zip(replicas, optimisers, x.chunk(2), strict=True):
            optimiser.zero_grad()
            m(part.to(m.weight.device, non_blocking=True)).square().mean().backward()
        for pair in zip(*(m.parameters() for m in replicas), strict=True):
            mean = sum(p.grad.to(devices[0]) for p in pair) / 2
            for p in pair:
                p.grad.copy_(mean)
        for optimiser in optimisers:
            optimiser.step()
        results += [m.weight.detach().clone() for m in replicas]
    assert torch.equal(results[-1].cpu(), results[-2].cpu())
    return results


@program
def a_thread_for_each_device():
    outputs, errors = [None, None], []

    def work(rank, device):
        try:
            if device != "cpu":
                torch.cuda.set_device(rank)
                assert torch.cuda.current_device() == rank
            x = torch.arange(4.0, device="cuda" if device != "cpu" else "cpu") * (rank + 1)
            assert str(x.device) == device
            outputs[rank] = (x @ x).sqrt()
        except Exception as error:  # told by the thread that waits
            errors.append(error)

    threads = [threading.Thread(target=work, args=numbered) for numbered in enumerate(places())]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not errors, errors
    return outputs


@program
def devices_are_chosen_for_a_while():
    first, second = places()
    results = []
    if second != "cpu":
        with torch.cuda.device(1):
            results.append(torch.ones(2, device="cuda"))
            assert torch.cuda.current_device() == 1 and str(results[0].device) == second
            with torch.cuda.device_of(torch.zeros(1, device=first)):
                results.append(torch.ones(2).cuda() * 2)
        assert torch.cuda.current_device() == 0 and torch.cuda.can_device_access_peer(0, 1)
        assert [str(x.device) for x in results] == [second, first]
    else:
        results = [torch.ones(2), torch.ones(2) * 2]
    target = torch.zeros(2, device=second)
    target.copy_(results[1]).add_(1)
    return results, target, results[1].to(target), results[1].type_as(target)


@program
def scattered_broadcast_and_gathered():
    x = drawn(4, 3)
    if torch.cuda.device_count() < 2:
        return x[:2], x[2:], x * 2, x[0] + x[0], x
    import torch.cuda.comm as comm
    from torch.nn.parallel import gather, parallel_apply, replicate, scatter

    low, high = comm.scatter(x, (0, 1))
    parts = scatter([x.cuda()], (0, 1))
    layers = replicate(nn.Identity().cuda(), (0, 1))
    outputs = parallel_apply(layers, parts)
    sums = comm.reduce_add([x[0].cuda(0), x[0].cuda(1)], 0)
    return low, high, gather(outputs, 0) * 2, sums, comm.gather(comm.broadcast(x, (0, 1))[:1], destination="cpu")


def toy(rank, world, port, queue):
    """A rank: the toy model of every first example with DDP."""
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", str(port)
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo", rank=rank, world_size=world)
    if on_gpu:
        torch.cuda.set_device(rank)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).to(rank if on_gpu else "cpu")
    model = DistributedDataParallel(model, device_ids=[rank] if on_gpu else None)
    data = torch.utils.data.TensorDataset(torch.arange(24.0).view(8, 3) / 24)
    sampler = DistributedSampler(data, num_replicas=world, rank=rank, shuffle=False)
    loader = torch.utils.data.DataLoader(data, batch_size=2, sampler=sampler, pin_memory=on_gpu)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            optimiser.zero_grad()
            loss = model(x.to(rank) if on_gpu else x).square().mean()
            loss.backward()
            optimiser.step()
    total = loss.detach()
    dist.all_reduce(total)
    dist.barrier()
    if rank == 0:
        queue.put([total.item(), model.module[0].weight.detach().cpu().tolist(), total.is_cuda])
    dist.destroy_process_group()


@program
def ranks_in_processes_of_their_own():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(toy, args=(2, port, queue), nprocs=2, join=True)
    total, weight, on_gpu = queue.get()
    assert on_gpu == torch.cuda.is_available()
    return torch.tensor(total, device=gpu()) * 1, torch.tensor(weight)
