"""What is measured of a device: products, ops bound by memory, copies, and what an op costs its host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import torch

from simgpu.models.calibration import Device
from simgpu.recording.stopwatch import Spread, Stopwatch

_LONG = 0.05  # seconds of a product after which no larger one is tried
_STRETCH = 5e-4  # seconds between two events at least, if a few calls take so long


HOST, DEVICE, WAIT = "queued by the host", "done by the device", "waited by the host"


@dataclass(frozen=True)
class Call:
    """The seconds of one small call of `op`, by `side`: `HOST`, `DEVICE` or `WAIT`."""

    op: str
    side: str
    seconds: float
    iqr: float
    repeats: int


@dataclass(frozen=True)
class Product:
    """The device's seconds of a `size` × `size` product in `dtype`."""

    size: int
    dtype: str
    compute: float
    iqr: float
    repeats: int

    @property
    def flops(self) -> int:
        """Floating-point operations of the product."""
        return 2 * self.size**3


@dataclass(frozen=True)
class Op:
    """The device's seconds of `op` on arrays of `numbers` numbers: `flops` operations, `nbytes` read and written."""

    op: str
    dtype: str
    numbers: int
    flops: int
    nbytes: int
    seconds: float
    iqr: float
    repeats: int


@dataclass(frozen=True)
class Copy:
    """The seconds of a copy of `nbytes`: the host's, which waits for it, or between devices the device's.

    `direction` is "to device", "from device" or "between devices"; `memory`, of the host's end, "pinned" or "pageable".
    """

    direction: str
    memory: str
    nbytes: int
    seconds: float
    iqr: float
    repeats: int


@dataclass(frozen=True)
class Sizes:
    """What is measured: `products` by size, ops on so many `numbers`, `copies` of so many bytes."""

    products: Sequence[int] = (256, 512, 1024, 2048, 4096, 8192)
    numbers: Sequence[int] = (2**20, 2**24, 2**26, 2**28)
    copies: Sequence[int] = (2**12, 2**16, 2**20, 2**24, 2**27)


#: On a simulated device copies really are made, and no cache makes a small one quicker.
SIMULATED = Sizes(copies=(2**12, 2**16, 2**20))


def products(watch: Stopwatch, sizes: Sequence[int], dtypes: Sequence[str]) -> list[Product]:
    """Return a `Product` for each of `dtypes` and rising `sizes`; after one that takes long, no larger one."""
    rows = []
    before = torch.get_float32_matmul_precision()
    try:
        for dtype in dtypes:
            torch.set_float32_matmul_precision("high" if dtype == "tfloat32" else "highest")
            for size in sizes:
                rows.append(Product(size, dtype, *_product(watch, size, dtype)))
                if rows[-1].compute > _LONG:
                    break
    finally:
        torch.set_float32_matmul_precision(before)
    return rows


def _product(watch, size, dtype):
    kind = torch.float32 if dtype == "tfloat32" else getattr(torch, dtype)
    a, b, out = (watch.tensor((size, size), kind) for _ in range(3))
    return _device_seconds(watch, partial(torch.mm, a, b, out=out))


def ops(watch: Stopwatch, numbers: Sequence[int]) -> list[Op]:
    """Return an `Op` for each of some ops bound by memory and each of `numbers`; in float32."""
    rows = []
    for count in numbers:
        a, b, out = (watch.tensor((count,), torch.float32) for _ in range(3))
        calls = {
            "add": (partial(torch.add, a, b, out=out), count, 3),
            "copy": (partial(out.copy_, a), 0, 2),
            "clamp": (partial(torch.clamp, a, min=0, out=out), count, 2),
        }
        for name, (call, flops, arrays) in calls.items():
            rows.append(Op(name, "float32", count, flops, arrays * count * 4, *_device_seconds(watch, call)))
    return rows


def copies(watch: Stopwatch, sizes: Sequence[int]) -> list[Copy]:
    """Return a `Copy` for each of `sizes` in bytes, to and from the device, and to a second one where there is one."""
    rows = []
    second = next((torch.device("cuda", i) for i in range(torch.cuda.device_count()) if i != watch.device.index), None)
    for nbytes in sizes:
        target = torch.zeros(nbytes, dtype=torch.uint8, device=watch.device)
        for memory in ("pageable", "pinned"):
            host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=memory == "pinned")
            spread = watch.blocking(partial(target.copy_, host))
            rows.append(Copy("to device", memory, nbytes, *spread))
            spread = watch.blocking(partial(host.copy_, target))
            rows.append(Copy("from device", memory, nbytes, *spread))
        if second is not None:
            beside = torch.zeros(nbytes, dtype=torch.uint8, device=second)
            spread = _device_seconds(watch, partial(beside.copy_, target))
            rows.append(Copy("between devices", "of a device", nbytes, *spread))
    return rows


def warm_up(watch: Stopwatch, seconds: float) -> None:
    """Keep the device busy with products for `seconds`, so that it is timed at the frequency at which it works."""
    a, out = (watch.tensor((1024, 1024), torch.float32) for _ in range(2))
    watch.warm_up(partial(torch.mm, a, a, out=out), seconds)


def calls(watch: Stopwatch) -> list[Call]:
    """Return a `Call` for some small ops, each on the host and on the device, and for a wait for an idle device."""
    a, b, out = (watch.tensor((64,), torch.float32) for _ in range(3))
    square, product = (watch.tensor((8, 8), torch.float32) for _ in range(2))
    small = {
        "add": partial(torch.add, a, b, out=out),
        "clamp": partial(torch.clamp, a, min=0, out=out),
        "copy": partial(out.copy_, a),
        "exp": partial(torch.exp, a, out=out),
        "mm": partial(torch.mm, square, square, out=product),
    }
    rows = [Call(name, HOST, *watch.queued(call)) for name, call in small.items()]
    rows += [Call(name, DEVICE, *watch.on_device(call, watch.most)) for name, call in small.items()]
    return [*rows, Call("synchronize", WAIT, *watch.queued(partial(torch.cuda.synchronize, watch.device)))]


def of_device(device: torch.device, measured: Sequence[Call]) -> Device:
    """Return the `Device` by the medians of what was `measured` of small ops, and by its own properties."""
    properties = torch.cuda.get_device_properties(device)
    launch, shortest, wait = (
        median(row.seconds for row in measured if row.side == side) for side in (HOST, DEVICE, WAIT)
    )
    return Device(
        launch=launch,
        shortest_kernel=shortest,
        synchronise=wait,
        memory=properties.total_memory,
        capability=(properties.major, properties.minor),
        multiprocessors=properties.multi_processor_count,
    )


def _device_seconds(watch: Stopwatch, call: Callable[[], object]) -> Spread:
    once = watch.on_device(call, 1).median
    return watch.on_device(call, max(1, min(watch.most, round(_STRETCH / max(once, 1e-9)))))
