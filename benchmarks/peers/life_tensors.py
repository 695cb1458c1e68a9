"""Life as it is written for machine learning's libraries: torch's conv2d and roll, JAX, and CAX, which stands on it."""

import numpy as np

from benchmarks.boards import checksum, load
from benchmarks.contestant import Work


def conv2d(board, height, width, generations):
    """A convolution of float32 in torch, on a board padded around."""
    import torch
    from torch.nn.functional import conv2d, pad

    kernel = torch.ones(1, 1, 3, 3)
    kernel[0, 0, 1, 1] = 0
    first = torch.from_numpy(load(board, height, width)).float()[None, None]

    def run():
        cells = first
        for _ in range(generations):
            counts = conv2d(pad(cells, (1, 1, 1, 1), mode="circular"), kernel)
            cells = ((counts == 3) | ((cells == 1) & (counts == 2))).float()
        return cells[0, 0]

    return Work(run, checksum, warm_ups=1)


def roll(board, height, width, generations):
    """Eight shifted copies of a board of bytes in torch, added up."""
    import torch

    first = torch.from_numpy(load(board, height, width))
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]

    def run():
        cells = first
        for _ in range(generations):
            counts = sum(torch.roll(cells, shift, (0, 1)) for shift in around)
            cells = ((counts == 3) | ((cells == 1) & (counts == 2))).to(torch.uint8)
        return cells

    return Work(run, checksum, warm_ups=1)


def jax_roll(board, height, width, generations):
    """The same in JAX, all generations compiled into one loop."""
    import jax
    import jax.numpy as jnp

    first = jnp.asarray(load(board, height, width))

    def step(_, cells):
        rows = cells + jnp.roll(cells, 1, 0) + jnp.roll(cells, -1, 0)
        counts = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1) - cells
        return ((counts == 3) | ((cells == 1) & (counts == 2))).astype(jnp.uint8)

    all_steps = jax.jit(lambda cells: jax.lax.fori_loop(0, generations, step, cells))
    return Work(lambda: all_steps(first).block_until_ready(), checksum, warm_ups=1)


def cax(board, height, width, generations):
    """CAX's own Life: cellular automata as neural networks, on JAX."""
    from cax.cs.life import Life
    from flax import nnx

    birth, survival = Life.birth_survival_from_string("B3/S23")
    life = Life(birth=birth, survival=survival, rngs=nnx.Rngs(0))
    first = load(board, height, width).astype(np.float32)[..., None]
    run = lambda: life(first, num_steps=generations).block_until_ready()  # noqa: E731
    return Work(run, lambda cells: checksum(np.asarray(cells)[..., 0]), warm_ups=1)
