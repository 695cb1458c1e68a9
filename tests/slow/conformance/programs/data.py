"""Numbers for the programs, made on the CPU from a seed, so that every device starts from the same ones."""

import torch


def normal(*shape, seed=0, dtype=torch.float32):
    """Standard normal numbers of `shape` on the CPU."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def whole(high, *shape, seed=0):
    """int64 numbers 0 ≤ k < `high` of `shape` on the CPU."""
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def seeded(make, seed=0):
    """Return `make()`, a module built on the CPU, with parameters that depend on `seed` alone."""
    module = make()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype) * 0.3)
    return module
