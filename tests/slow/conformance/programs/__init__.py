"""PyTorch programs as anybody writes them; each yields what it made and the device where CUDA would leave it.

A program is a generator function of a device (or, in `several`, of a list of four). It yields

    (name, result, device)

where `result` is a tensor, a number, a list or dict of these, an `nn.Module` or an optimiser, and `device` the one that
CUDA reports for every tensor in it. On the CPU all devices are the CPU, so the same program runs there as the oracle.
Random numbers come from the CPU (`data`), so that all devices start from the same ones.
"""

from tests.slow.conformance.programs import autograd, chapters, modules, networks, optimisers, saving, several, tensors

SINGLE = {f"{m.__name__.split('.')[1]}.{f.__name__}": f for m in (
    autograd, chapters, modules, networks, optimisers, saving, tensors,
) for f in m.PROGRAMS}  # fmt: skip
SEVERAL = {f"several.{f.__name__}": f for f in several.PROGRAMS}
