"""`multiplying(dtype, place)`: the number format of products, TF32 included, which torch keeps as a setting."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from course.timing.device_lookup import Place

TF32 = "tfloat32"


@contextmanager
def multiplying(dtype: str | torch.dtype, place: Place) -> Iterator[torch.dtype]:
    """Within the `with`, products on `place` are in `dtype`; give the `torch.dtype` in which the numbers are stored.

    `dtype` is a name such as "bfloat16", or a `torch.dtype`; "tfloat32" is stored as float32 and multiplied by a GPU's
    tensor cores with 10 bits of fraction. On a GPU, "float32" switches that off. torch keeps the setting for the whole
    process; it is put back. Raises ValueError for a dtype torch does not know, and for "tfloat32" on a CPU.
    """
    name = name_of(dtype)
    number = torch.float32 if name == TF32 else getattr(torch, name, None)
    if not isinstance(number, torch.dtype) or not number.is_floating_point:
        raise ValueError(f"dtype={dtype!r}: torch multiplies no such numbers; use 'float32', 'bfloat16' or 'float64'.")
    if place.device.type == "cpu":
        if name == TF32:
            raise ValueError(f"dtype={dtype!r} on {place.name}: TF32 is for a GPU's tensor cores; use 'float32'.")
        yield number
        return
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high" if name == TF32 else "highest")
        yield number
    finally:
        torch.set_float32_matmul_precision(before)


def name_of(dtype: str | torch.dtype) -> str:
    """Return the name of `dtype`: "float32" for `torch.float32`; a name stays as it is."""
    return str(dtype).removeprefix("torch.")
