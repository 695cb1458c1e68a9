"""Ops bound by memory: read, write, count, sort, pick."""

import torch

_MANY = 2**25  # numbers: 128 MiB in float32, more than any cache holds


def sum_of_all(device, part):
    """The sum of 32 million numbers."""
    x = torch.randn(_MANY // part, device=device)
    return lambda: x.sum()


def chain_elementwise(device, part):
    """Five elementwise ops on 16 million numbers, one after the other."""
    x = torch.randn(_MANY // 2 // part, device=device)
    return lambda: torch.nn.functional.gelu((x * 2 + 1).tanh()).square()


def statistics_of_rows(device, part):
    """Mean and standard deviation of 8,192 rows of 2,048."""
    x = torch.randn(8192 // part, 2048, device=device)
    return lambda: (x.mean(1), x.std(1))


def transposed_copy(device, part):
    """4,096 × 4,096, turned and laid out anew."""
    x = torch.randn(4096 // part, 4096, device=device)
    return lambda: x.t().contiguous()


def gather_rows(device, part):
    """200,000 rows of 64, picked from a table of a million numbers."""
    table, index = torch.randn(16_384, 64, device=device), torch.randint(16_384, (200_000 // part,), device=device)
    return lambda: table[index]


def scatter_add(device, part):
    """A million numbers added into 10,000 places."""
    index = torch.randint(10_000, (2**20 // part,), device=device)
    values, into = torch.rand(2**20 // part, device=device), torch.zeros(10_000, device=device)
    return lambda: into.scatter_add_(0, index, values)


def sort_and_topk(device, part):
    """A million numbers sorted, and the 100 largest of each of 512 rows of 4,096."""
    x, rows = torch.rand(2**20 // part, device=device), torch.rand(512 // part, 4096, device=device)
    return lambda: (x.sort(), rows.topk(100))


PROGRAMS = (
    sum_of_all, chain_elementwise, statistics_of_rows, transposed_copy, gather_rows, scatter_add, sort_and_topk,
)  # fmt: skip
