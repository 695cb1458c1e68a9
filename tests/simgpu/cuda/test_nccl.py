"""`backend="nccl"` by two processes of torchrun: collectives, DDP and FSDP2 against one process on the joined batch."""

import os
import subprocess
import sys

import pytest

HEAD = """
import torch, torch.distributed as dist

dist.init_process_group("nccl")
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
dist.barrier()
two = dist.new_group([0, 1])
gloo = dist.new_group([0, 1], backend="gloo")
assert dist.get_backend(two) == "nccl" and dist.get_backend(gloo) == "gloo"
dist.all_reduce(part, group=two)
seen = [None, None]
dist.all_gather_object(seen, {"rank": rank})
assert seen == [{"rank": 0}, {"rank": 1}]
import simgpu
assert any("c10d::allreduce_" in span.name for span in simgpu.active().clock.spans)
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
    "memory": """
import simgpu
kept = torch.ones(2**20, device=device)
assert torch.cuda.memory_allocated() == 2**22, "each process has the memory of its own device to itself"
assert torch.cuda.device_count() == 2
total = torch.tensor(float(torch.cuda.memory_allocated()), device=device)
dist.all_reduce(total)
assert total.item() == 2**23
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_processes_do_as_cuda_s_would(name, tmp_path):
    file = tmp_path / "train.py"
    file.write_text(f"{HEAD}\n{PROGRAMS[name]}\ndist.destroy_process_group()\nprint(f'rank {{rank}} is done')\n")
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
    done = subprocess.run(
        [*command, file], capture_output=True, text=True, timeout=200, env=variables | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert {f"rank {rank} is done" for rank in (0, 1)} == set(done.stdout.replace("done", "done\n").split("\n")) - {""}
    assert done.stderr.count("NCCL among simulated GPUs: gloo carries its collectives") == 1
