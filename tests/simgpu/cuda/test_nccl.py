"""`backend="nccl"` by two processes of torchrun: collectives, DDP, FSDP, DTensors against one process's batch."""

import json
import os
import subprocess
import sys

import pytest

HEAD = """
import datetime
import torch, torch.distributed as dist

dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=60))
rank, world = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", int(rank))
torch.cuda.set_device(device)
"""
MODEL = """
def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


torch.manual_seed(1)
batch, wanted = torch.randn(8, 8), torch.randn(8, 4)
whole = build()
(whole(batch) - wanted).square().mean().backward()
mine = slice(4 * rank, 4 * rank + 4)
"""
PROGRAMS = {
    "memory": """
import simgpu
kept = torch.ones(2**20, device=device)
assert torch.cuda.memory_allocated() == 2**22, "each process has the memory of its own device to itself"
assert torch.cuda.device_count() == 2
total = torch.tensor(float(torch.cuda.memory_allocated()), device=device)
dist.all_reduce(total)
assert total.item() == 2**23
""",
    "collectives": """
assert dist.get_backend() == "nccl" and dist.is_nccl_available() and dist.is_backend_available("gloo")
x = torch.full((3,), rank + 1.0, device=device)
work = dist.all_reduce(x, async_op=True)
work.wait()
assert work.is_completed() and x.tolist() == [3, 3, 3] and x.device == device
dist.all_reduce(x, op=dist.ReduceOp.AVG)
assert x.tolist() == [3, 3, 3]
dist.all_reduce(x.mul_(rank), op=dist.ReduceOp.MAX)
assert x.tolist() == [3, 3, 3]
parts = [torch.empty(2, device=device) for _ in range(world)]
dist.all_gather(parts, torch.full((2,), float(rank), device=device))
assert [part.tolist() for part in parts] == [[0, 0], [1, 1]] and all(part.device == device for part in parts)
joined = torch.empty(4, device=device)
dist.all_gather_into_tensor(joined, torch.full((2,), float(rank), device=device))
assert joined.tolist() == [0, 0, 1, 1]
part = torch.empty(2, device=device)
dist.reduce_scatter_tensor(part, joined)
assert part.tolist() == [2 * rank, 2 * rank]
dist.broadcast(part, 1)
assert part.tolist() == [2, 2]
turned = torch.empty(4, device=device)
dist.all_to_all_single(turned, torch.arange(4.0, device=device) + 10 * rank)
assert turned.tolist() == [2 * rank, 2 * rank + 1, 10 + 2 * rank, 11 + 2 * rank]
if rank:
    dist.recv(part, 0)
else:
    dist.send(part * 3, 1)
assert part.tolist() == ([6, 6] if rank else [2, 2])
dist.barrier(device_ids=[rank])
future = dist.all_reduce(part, async_op=True).get_future()
assert future.wait()[0] is part and part.tolist() == [8, 8]
part.fill_(6 if rank else 2)
two = dist.new_group([0, 1])
gloo = dist.new_group([0, 1], backend="gloo")
assert dist.get_backend(two) == "nccl" and dist.get_backend(gloo) == "gloo"
dist.all_reduce(part, group=two)
seen = [None, None]
dist.all_gather_object(seen, {"rank": rank})
assert seen == [{"rank": 0}, {"rank": 1}]
import simgpu
assert any("c10d::allreduce_" in span.name for span in simgpu.active().clock.spans)
for wrong in (
    lambda: dist.all_reduce(torch.ones(2)),
    lambda: dist.all_gather([torch.ones(2), torch.ones(2)], part),
    lambda: dist.broadcast(torch.ones(2), src=0, group=two),
):
    try:
        wrong()
    except RuntimeError as error:
        assert "No backend type associated with device type cpu" in str(error)
    else:
        raise AssertionError("NCCL took a tensor of the CPU")
dist.all_reduce(torch.ones(2), group=gloo)
functional = torch.distributed._functional_collectives.all_reduce(torch.ones(2, device=device), "sum", dist.group.WORLD)
assert functional.device == device and (functional + 1).tolist() == [3, 3]
""",
    "DDP": MODEL
    + """
from torch.nn.parallel import DistributedDataParallel

model = DistributedDataParallel(build().to(device), device_ids=[rank], bucket_cap_mb=0.0005)
(model(batch[mine].to(device)) - wanted[mine].to(device)).square().mean().backward()
for ours, theirs in zip(model.parameters(), whole.parameters()):
    assert ours.grad.device == device
    torch.testing.assert_close(ours.grad.cpu(), theirs.grad)
with model.no_sync():
    model(batch[mine].to(device)).sum().backward()
optimizer = torch.optim.AdamW(model.parameters())
optimizer.step()
""",
    "buckets": """
import gc, time
import simgpu
from torch.nn.parallel import DistributedDataParallel

gpus = simgpu.active()


def comes_to(nbytes, seconds=30.0):
    # gloo's threads hold what they have sent for a moment longer, torch 2.11 a number of its first barrier for ever
    deadline = time.monotonic() + seconds
    while not 0 <= torch.cuda.memory_allocated() - nbytes <= 512 and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)
    return 0 <= torch.cuda.memory_allocated() - nbytes <= 512


inner = torch.nn.Sequential(*(torch.nn.Linear(512, 512, bias=False) for _ in range(4))).to(device)
before = sum(one.nbytes for one in inner.parameters())
assert comes_to(before), "nothing else is on the device"
model = DistributedDataParallel(inner, device_ids=[rank], bucket_cap_mb=1)
assert comes_to(before + 4 * 2**20), "the buckets are as large as the gradients"
for count in (1, 4):  # one before it has seen in which order gradients come; then as large as they may be
    gpus.clock.reset()
    model(torch.ones(2, 512, device=device)).sum().backward()
    spans = [span for span in gpus.clock.spans if span.name == "all-reduce of a bucket" and span.lane != "host"]
    assert len(spans) == count, spans
    modelled = 2**22 / count / gpus.model.copy_bandwidth
    assert all(abs(span.stop - span.start - modelled) < 0.01 * modelled for span in spans), spans
assert comes_to(before + 8 * 2**20), "and the gradients"
del model
assert comes_to(before + 4 * 2**20), "buckets go with their model"
views = DistributedDataParallel(inner, device_ids=[rank], gradient_as_bucket_view=True)
inner.zero_grad()
views(torch.ones(2, 512, device=device)).sum().backward()
assert torch.cuda.memory_allocated() < before + 5 * 2**20, "gradients lie in the buckets"
""",
    "hooks": MODEL
    + """
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel


def own(state, bucket):
    buffer = bucket.buffer()
    state.append((bucket.index(), buffer.device, {one.device for one in bucket.gradients()}))
    return dist.all_reduce(buffer / world, async_op=True).get_future().then(lambda future: future.value()[0])


def trained(state, hook):
    model = DistributedDataParallel(build().to(device), device_ids=[rank])
    model.register_comm_hook(state, hook)
    for _ in range(3):
        model.zero_grad()
        (model(batch[mine].to(device)) - wanted[mine].to(device)).square().mean().backward()
    return [one.grad for one in model.parameters()]


seen = []
for state, hook, tolerance in (
    (seen, own, 1e-5),
    (None, default_hooks.allreduce_hook, 1e-5),
    (None, default_hooks.fp16_compress_hook, 1e-2),
    (None, default_hooks.bf16_compress_hook, 3e-2),
    (powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook, None),
):
    for ours, theirs in zip(trained(state, hook), whole.parameters()):
        assert ours.device == device
        if tolerance:
            torch.testing.assert_close(ours.cpu(), theirs.grad, rtol=tolerance, atol=tolerance)
assert seen == [(0, device, {device})] * 3
""",
    "SyncBatchNorm": """
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2))


torch.manual_seed(1)
batch = torch.randn(8, 2, 2, 2)
whole = build()
whole(batch).square().mean().backward()
model = nn.SyncBatchNorm.convert_sync_batchnorm(build()).to(device)
assert isinstance(model[1], nn.SyncBatchNorm)
parallel = DistributedDataParallel(model, device_ids=[rank])
parallel(batch[4 * rank : 4 * rank + 4].to(device)).square().mean().backward()
for ours, theirs in zip(model.parameters(), whole.parameters()):
    torch.testing.assert_close(ours.grad.cpu(), theirs.grad)
for name, kept in whole[1].named_buffers():
    torch.testing.assert_close(model[1].get_buffer(name).cpu(), kept)
""",
    "DTensor": """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

mesh = init_device_mesh("cuda", (world,))
whole = torch.arange(8.0).reshape(4, 2)
parts = distribute_tensor(whole, mesh, [Shard(0)])
assert parts.device == device and parts.is_cuda and parts.get_device() == rank and not parts.is_cpu
assert parts.to_local().device == device and parts.to_local().tolist() == whole[2 * rank : 2 * rank + 2].tolist()
product = parts @ distribute_tensor(whole.T.contiguous(), mesh, [Replicate()])
assert product.device == device and product.full_tensor().device == device
assert torch.equal(product.full_tensor().cpu(), whole @ whole.T)
torch.manual_seed(0)
plain = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
x = torch.randn(3, 4)
expected = plain(x).detach()
split = parallelize_module(plain.to(device), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
torch.testing.assert_close(split(x.to(device)).cpu(), expected)
""",
    "FSDP1": MODEL
    + """
from torch.distributed.fsdp import FullyShardedDataParallel

model = FullyShardedDataParallel(build(), device_id=torch.cuda.current_device())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
(model(batch[mine].to(device)) - wanted[mine].to(device)).square().mean().backward()
optimizer.step()
torch.optim.SGD(whole.parameters(), lr=0.1).step()
with FullyShardedDataParallel.summon_full_params(model):
    for (name, ours), theirs in zip(model.named_parameters(), whole.parameters()):
        assert ours.device == device
        torch.testing.assert_close(ours.detach().cpu(), theirs.detach())
""",
    "FSDP2": MODEL
    + """
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

model = build().to(device)
for layer in (model[0], model[2]):
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
(model(batch[mine].to(device)) - wanted[mine].to(device)).square().mean().backward()
for ours, theirs in zip(model.parameters(), whole.parameters()):
    assert ours.grad.to_local().device == device and len(ours.grad.to_local()) == len(theirs) // 2
    torch.testing.assert_close(ours.grad.full_tensor().cpu(), theirs.grad)
optimizer.step()
torch.optim.AdamW(whole.parameters(), lr=0.1).step()
for ours, theirs in zip(model.parameters(), whole.parameters()):
    torch.testing.assert_close(ours.full_tensor().cpu(), theirs)
half = fully_shard(build().to(device), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
assert half(batch[mine].to(device)).dtype == torch.bfloat16
""",
}


EACH = """
import gc, json, sys, traceback

head, programs, where = json.load(open(sys.argv[1]))
exec(head)
for name, program in programs.items():
    error = ""
    try:
        exec(program, {**globals()})
    except BaseException:
        error = traceback.format_exc()
    gc.collect()
    with open(f"{where}/{name} {rank}", "w") as file:
        file.write(error)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return the folder with what each program's ranks said, and the process that ran all of them in turn."""
    where = tmp_path_factory.mktemp("nccl")
    (where / "train.py").write_text(EACH)
    (where / "programs.json").write_text(json.dumps([HEAD, PROGRAMS, str(where)]))
    command = [
        sys.executable,
        "-m",
        "simgpu",
        "run",
        "--gpus",
        "2",
        "torchrun",
        "--standalone",
        "--nproc-per-node",
        "2",
    ]
    variables = {key: text for key, text in os.environ.items() if not key.startswith(("SIMGPU", "CUDA_"))}
    ran = subprocess.run(
        [*command, where / "train.py", where / "programs.json"],
        capture_output=True,
        text=True,
        timeout=400,
        env=variables | {"OMP_NUM_THREADS": "1"},
    )
    return where, ran


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_processes_do_as_cuda_s_would(name, done):
    where, ran = done
    for rank in (0, 1):
        error = where / f"{name} {rank}"
        assert error.exists(), ran.stderr
        assert not error.read_text(), error.read_text()


@pytest.mark.long
def test_both_processes_end_well_and_gloo_is_named_once(done):
    _, ran = done
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("NCCL among simulated GPUs: gloo carries its collectives") == 1
