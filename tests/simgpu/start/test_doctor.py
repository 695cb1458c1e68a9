"""`python -m simgpu doctor`, and the table that it and the README read: each of its rows is tried here."""

import io
import warnings
from pathlib import Path

import pytest
import torch

from simgpu import active, simulated_gpus
from simgpu.__main__ import main
from simgpu.doctor import findings
from simgpu.supported import DIFFERS, REFUSED, ROWS, SIMULATED, UNSEEN, table

README = Path(__file__).parents[3] / "simgpu" / "README.md"


def _memory():
    before = torch.cuda.memory_allocated()
    x = torch.ones(1000, device="cuda")
    assert torch.cuda.memory_allocated() - before == 4096 and x.is_cuda
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
        torch.empty(2**40, device="cuda")


def _streams():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(torch.cuda.Stream()):
        start.record()
        torch.ones(100, device="cuda") * 2
        end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0


def _asserts():
    torch.ones(3, device="cuda")[torch.tensor([5])]
    with pytest.raises(torch.AcceleratorError, match="device-side assert triggered"):
        torch.cuda.synchronize()
    active().reset()


def _graphs():
    x = torch.ones(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 3
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [6.0, 6.0]


def _autocast():
    scaler = torch.amp.GradScaler("cuda")
    layer = torch.nn.Linear(4, 4, device="cuda")
    with torch.autocast("cuda"):
        half = layer(torch.ones(2, 4, device="cuda"))
        assert (half.dtype, half.softmax(1).dtype) == (torch.float16, torch.float32)
    scaler.scale(half.float().sum()).backward()
    assert layer.weight.grad.device.type == "cuda"


def _errors():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(1, device="cuda:0") + torch.ones(1, device="cuda:1")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device="cuda:7")
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        torch.ones(1, device="cuda").numpy()
    with pytest.raises(NotImplementedError, match="\"addmm_cuda\" not implemented for 'Long'"):
        torch.ones(1, 1, dtype=torch.int64, device="cuda") @ torch.ones(1, 1, dtype=torch.int64, device="cuda")


def _devices():
    model = torch.nn.Linear(3, 2).to("cuda:1")
    step = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(4, 3).cuda(1)).sum().backward()
    step.step()
    assert model.weight.device == torch.device("cuda:1")


def _pinned():
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True):
        assert batch.is_pinned() and batch.to("cuda", non_blocking=True).is_cuda


def _files():
    file = io.BytesIO()
    torch.save({"x": torch.arange(3, device="cuda:1")}, file)
    file.seek(0)
    assert torch.load(file, map_location="cuda:0")["x"].device == torch.device("cuda:0")


def _several():
    model = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())
    assert model(torch.ones(4, 2, device="cuda")).shape == (4, 2)


def _nccl():  # more of it in tests/simgpu/cuda/test_nccl.py, by several processes
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    try:
        torch.distributed.all_reduce(ones := torch.ones(2, device="cuda"))
        assert torch.distributed.get_backend() == "nccl" and ones.tolist() == [1, 1]
    finally:
        torch.distributed.destroy_process_group()


def _random():
    torch.manual_seed(1)
    first = torch.rand(3, device="cuda").cpu()
    torch.manual_seed(1)
    assert torch.equal(first, torch.rand(3, device="cuda").cpu())


def _times():
    assert "not measured" in active().clock.model.label


def _compile():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, when its compiler is loaded
        assert torch.compile(lambda x: x + 1)(torch.ones(1, device="cuda")).is_cuda


def _profiler():
    with pytest.warns(UserWarning, match="no hardware to profile: the profile shows the CPU"):
        profile = torch.autograd.profiler.profile(use_device="cuda")
    with profile as running:
        torch.ones(1, device="cuda") + 1
    assert running.key_averages() is not None


def _nvtx():
    torch.cuda.nvtx.range_push("part")
    torch.cuda.nvtx.range_pop()


def _refused(act, kind=(RuntimeError, NotImplementedError)):
    def tried():
        with pytest.raises(kind, match="[Ss]imulated"):
            act()

    return tried


TRIED = {
    "devices, factories, `.to`, `.cuda`, modules, optimizers, autograd": [_devices],
    "errors: two devices, no such device, no such dtype, `.numpy()`, a forked child": [_errors],
    "memory: allocated, peak, out of memory": [_memory],
    "streams, events, synchronisation": [_streams],
    "device-side asserts": [_asserts],
    "CUDA graphs": [_graphs],
    "autocast, `GradScaler`": [_autocast],
    "pinned memory, `non_blocking` copies, `DataLoader`": [_pinned],
    "`torch.save`, `torch.load`, pickles, `map_location`": [_files],
    "`DataParallel`, `scatter`, `gather`, `broadcast`": [_several],
    "`nccl`: collectives, DDP, FSDP, DTensor, `SyncBatchNorm`": [_nccl],
    "random numbers": [_random],
    "times": [_times],
    "`torch.compile`": [_compile],
    "the profiler": [_profiler],
    "NVTX marks": [_nvtx],
    "sparse tensors": [
        _refused(lambda: torch.eye(2, device="cuda").to_sparse()),
        _refused(lambda: torch.sparse_coo_tensor([[0], [0]], [1.0], device="cuda")),
    ],
    "`torch.export`": [_refused(lambda: torch.export.export(torch.nn.Linear(1, 1), (torch.ones(1),)))],
    "memory handed to other libraries": [
        _refused(lambda: torch.utils.dlpack.to_dlpack(torch.ones(1, device="cuda")), (RuntimeError, BufferError)),
    ],
    "sensors: utilization, temperature, power": [_refused(lambda: torch.cuda.utilization())],
    "custom kernels and other libraries of CUDA": [],
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.part)
def test_every_row_of_the_table_is_true(row):
    assert TRIED[row.part] or row.verdict == UNSEEN
    with simulated_gpus(2):
        for act in TRIED[row.part]:
            act()


def test_the_table_is_the_readmes_and_nothing_else_is_tried():
    assert table() in README.read_text(encoding="utf-8")
    assert list(TRIED) == [row.part for row in ROWS]
    assert {row.verdict for row in ROWS} == {SIMULATED, DIFFERS, REFUSED, UNSEEN}
    assert all(row.names for row in ROWS if row.verdict in (REFUSED, UNSEEN)), "the doctor looks for them by name"


@pytest.mark.parametrize(
    "source, expected",
    [
        ("import torch\ntorch.ones(1, device='cuda').cuda()", []),
        ("import torch.cuda as c\ng = c.utilization()", [(2, "torch.cuda.utilization", REFUSED)]),
        ("import torch.nn as nn\nm = nn.DataParallel(m)", []),
        (
            "from torch.export import export as e\ng = e()",
            [(1, "torch.export.export", REFUSED), (2, "torch.export.export", REFUSED)],
        ),
        ("import torch as t\n@t.compile\ndef f(x): ...", [(2, "torch.compile", DIFFERS)]),
        ("x = y.to_sparse()", [(1, ".to_sparse", REFUSED)]),
        ("import triton.language as tl", [(1, "triton.language", UNSEEN)]),
        ("import numpy as np\nnp.cuda.graph", []),
        ("compile('1')\nexport = 1", []),
        ("import torch\ng = torch.cuda.CUDAGraph()", []),
    ],
)
def test_a_program_is_read_for_what_it_will_meet(source, expected):
    assert [(finding.line, finding.name, finding.row.verdict) for finding in findings(source)] == expected


def test_the_doctor_tells_by_line_and_by_its_exit_status(tmp_path, capsys):
    good, stops, broken = tmp_path / "good.py", tmp_path / "stops.py", tmp_path / "broken.py"
    good.write_text("import torch\nf = torch.compile(f)\n")
    stops.write_text("import torch\n\ng = torch.cuda.utilization()\n")
    broken.write_text("def (:\n")
    assert main(["doctor", str(good)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{good}:2: torch.compile: differs: torch.compile: the function runs uncompiled",
        f"{good}: 0 uses that simulated GPUs stop at, 1 that differ; the rest runs as on CUDA.",
    ]
    assert main(["doctor", str(stops), str(good)]) == 1
    assert f"{stops}:3: torch.cuda.utilization: refused: sensors" in capsys.readouterr().out
    assert main(["doctor", str(broken), str(tmp_path / "none.py"), str(good)]) == 2
    assert capsys.readouterr().out.count("can't be read as Python") == 2


def test_without_a_file_it_tells_of_this_computer(capsys):
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert (
        f"PyTorch {torch.__version__.partition('+')[0]}" in text
        and ", of those tried" in text
        and "`simgpu run` works" in text
    )
    assert "models: A100, B200, H100, H200, L4, RTX4090, T4" in text
