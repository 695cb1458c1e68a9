"""What a build of torch for CUDA does without a driver, before, under and after simulated GPUs: run in its environment.

Prints a line for each thing that was tried; ends with an AssertionError at the first that is otherwise.
"""

from pathlib import Path

import torch

import simgpu

#: Their files' beginnings, as the system has them mapped.
LIBRARIES = ("libcudart", "libcublas.", "libcudnn.", "libcufft", "libcusparse.", "libnccl", "libtorch_cuda.")


def main():
    print(f"torch {torch.__version__}, {build()}")
    if not torch.version.cuda:
        print("of a build for CUDA nothing: this one is for the CPU")
    before = gpus_of_torch()
    assert before == (False, 0), f"a GPU is here: {before}"
    refusal = refused()
    print(f"before: no device, and a tensor on cuda is refused: {refusal}")
    simulated()
    same, again = gpus_of_torch() == before, refused()
    # A build for the CPU refuses where torch first loads torch.cuda, and that is once in a process.
    assert same and (again == refusal or not torch.version.cuda), f"afterwards torch answers otherwise: {again}"
    print(f"after: no device, and {'the same refusal' if again == refusal else f'refused otherwise: {again}'}")
    if torch.version.cuda:
        print("not tried: CUDA's kernels, its allocator and NCCL itself, which need a driver; Triton's compiler")


def build() -> str:
    """Return in words what the build is: for CUDA or not, its kernels and the libraries that are loaded."""
    if not torch.version.cuda:
        return "CPU build"
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    kernels = sum(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CUDA") for name in names)
    assert kernels > 500, f"a build for CUDA {torch.version.cuda} with {kernels} kernels for it"
    mapped = Path("/proc/self/maps")
    text = mapped.read_text(encoding="utf-8") if mapped.exists() else ""
    loaded = [name.strip(".") for name in LIBRARIES if "/" + name in text]
    return (
        f"build for CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}: {kernels} kernels for CUDA are "
        f"registered, {', '.join(loaded) or 'no library that can be named'} loaded, no driver"
    )


def gpus_of_torch():
    """Return what torch says of GPUs: whether one is available, how many."""
    return torch.cuda.is_available(), torch.cuda.device_count()


def refused() -> str:
    """Return the first sentence in which torch refuses a tensor on cuda."""
    try:
        torch.zeros(1, device="cuda")
    except (AssertionError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).partition('. ')[0]}"
    raise AssertionError("torch made a tensor on cuda, without a driver")


def simulated():
    """Start two GPUs, train a step on each, and compare with the CPU."""
    here = step("cpu")
    with simgpu.simulated_gpus(2) as gpus:
        assert gpus_of_torch() == (True, 2)
        for device in ("cuda:0", "cuda:1"):
            torch.testing.assert_close(step(device), here, rtol=1e-5, atol=1e-6)
        with torch.autocast("cuda"):
            assert (torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")).dtype == torch.float16
        assert gpus.clock.host > 0 and torch.cuda.memory_allocated() >= 0
    print("under 2 simulated GPUs: a step of training on each gives the CPU's loss and weights; autocast's fp16")


def step(device):
    """Return the loss and the weights after one step of training on `device`, on the CPU."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    model, batch = model.to(device), torch.randn(4, 8).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    return [loss.detach().cpu(), *(weight.detach().cpu() for weight in model.parameters())]


if __name__ == "__main__":
    main()
