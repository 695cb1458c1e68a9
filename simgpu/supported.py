"""What simulated GPUs do of CUDA: one table, for the README, for `simgpu doctor`, and held by tests."""

from typing import NamedTuple

SIMULATED, DIFFERS, REFUSED, UNSEEN = "simulated", "differs", "refused", "not seen"


class Row(NamedTuple):
    """A part of CUDA: its `verdict` (simulated, differs, refused, not seen), `how` in words, `names` that ask for it.

    A name is a dotted one (`torch.compile`), with all below it, or a method's (`.to_sparse`).
    """

    part: str
    verdict: str
    how: str
    names: tuple[str, ...] = ()


ROWS = (
    Row("devices, factories, `.to`, `.cuda`, modules, optimizers, autograd", SIMULATED, "values are the CPU's"),
    Row("errors: two devices, no such device, no such dtype, `.numpy()`, a forked child", SIMULATED, "in CUDA's words"),
    Row("memory: allocated, peak, out of memory", SIMULATED, "the card's bytes, counted; fragmentation isn't"),
    Row("streams, events, synchronisation", SIMULATED, "on a modelled clock"),
    Row("device-side asserts", SIMULATED, "raised when the host waits, with the line; the context is lost"),
    Row("CUDA graphs", SIMULATED, "a capture runs nothing, a replay costs one launch"),
    Row("autocast, `GradScaler`", SIMULATED, "by CUDA's own lists of ops; fp16 and bf16 arithmetic is the CPU's"),
    Row("pinned memory, `non_blocking` copies, `DataLoader`", SIMULATED, "in their order, on the modelled clock"),
    Row("`torch.save`, `torch.load`, pickles, `map_location`", SIMULATED, "files that a real GPU's program reads"),
    Row("`DataParallel`, `scatter`, `gather`, `broadcast`", SIMULATED, "copies between devices, on the modelled clock"),
    Row("`nccl`: collectives, DDP, FSDP, DTensor, `SyncBatchNorm`", SIMULATED, "gloo carries it, by that name"),
    Row("random numbers", DIFFERS, "repeatable by seed, but other numbers than a real GPU's"),
    Row("times", DIFFERS, "modelled, from data sheets or a card of your own, never measured"),
    Row("`torch.compile`", DIFFERS, "the function runs uncompiled", ("torch.compile",)),
    Row("the profiler", DIFFERS, "it shows the CPU, which simulates", ("torch.profiler", "torch.autograd.profiler")),
    Row("NVTX marks", DIFFERS, "accepted and ignored", ("torch.cuda.nvtx",)),
    Row("sparse tensors", REFUSED, "keep them on the CPU", ("torch.sparse_coo_tensor", "torch.sparse", ".to_sparse")),
    Row("`torch.export`", REFUSED, "export on the CPU", ("torch.export",)),
    Row(
        "memory handed to other libraries",
        REFUSED,
        "there is none on a device: copy with `.cpu()` first",
        ("torch.utils.dlpack", "torch.from_dlpack", "torch.to_dlpack", ".__cuda_array_interface__", ".data_ptr"),
    ),
    Row(
        "sensors: utilization, temperature, power",
        REFUSED,
        "there is nothing to measure",
        ("torch.cuda.utilization", "torch.cuda.temperature", "torch.cuda.power_draw", "torch.cuda.clock_rate"),
    ),
    Row(
        "custom kernels and other libraries of CUDA",
        UNSEEN,
        "they call the driver, not PyTorch",
        (
            "triton", "cupy", "numba.cuda", "pycuda", "pynvml", "flash_attn", "xformers", "bitsandbytes", "apex",
            "tensorrt", "torch.utils.cpp_extension", "deepspeed",
        ),
    ),
)  # fmt: skip


def table() -> str:
    """Return the rows as the Markdown table of the README.

    >>> print(table().splitlines()[2])
    | devices, factories, `.to`, `.cuda`, modules, optimizers, autograd | simulated | values are the CPU's |
    """
    lines = ["| of CUDA | here | how |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {row.part} | {row.verdict} | {row.how} |" for row in ROWS)])
