"""Products: of sizes and shapes that no card was fitted to."""

import torch


def product_float32(device, part):
    """1,800 × 1,800 × 1,800."""
    return _product(device, torch.float32, 1800 // part, 1800 // part, 1800 // part)


def product_bfloat16(device, part):
    """2,500 × 2,500 × 2,500 in bfloat16."""
    return _product(device, torch.bfloat16, 2500 // part, 2500 // part, 2500 // part)


def tall_product(device, part):
    """200,000 rows of 64 by 64 × 64."""
    return _product(device, torch.float32, 200_000 // part, 64, 64)


def batch_of_products(device, part):
    """256 products of 200 × 200."""
    a, b = (torch.randn(256 // part, 200, 200, device=device) for _ in range(2))
    return lambda: torch.bmm(a, b)


def pairwise_distances(device, part):
    """Squared distances of 3,000 points to 3,000 others, in 128 dimensions, and the nearest of each."""
    a, b = (torch.randn(3000 // part, 128, device=device) for _ in range(2))

    def step():
        distances = a.square().sum(1, keepdim=True) - 2 * (a @ b.t()) + b.square().sum(1)
        return distances.argmin(1)

    return step


def _product(device, dtype, rows, inner, columns):
    a, b = torch.randn(rows, inner, device=device, dtype=dtype), torch.randn(inner, columns, device=device, dtype=dtype)
    return lambda: a @ b


PROGRAMS = (product_float32, product_bfloat16, tall_product, batch_of_products, pairwise_distances)
