"""The course's own GPU code, chapter by chapter, on whatever device is given."""

import torch

from course import life, log_placement, mean, place
from course.devices import DeviceName
from tests.slow.conformance.programs.data import normal, whole


def chapter_01_six_ops(device):
    """The six ops of the chapter's question: three obey."""
    name = str(DeviceName.parse(str(device)))
    x, w = torch.ones(64, 256), torch.ones(256, 32)
    with log_placement() as log, place(name):
        h = x @ w
        h = h.relu()
        x += 1
        t = x.t()
        noise = torch.ones(4, device="cpu")
        total = h.sum()
    yield "obeyed", [h, total], device
    yield "stayed", [x, t, noise], "cpu"
    there = [r.op for r in log if r.device == name and not r.bytes_moved and not r.view]
    yield "log", [op in there for op in ("mm", "relu", "sum")], "cpu"


def chapter_01_gradients_come_home(device):
    leaf, x = torch.ones(256, 32, requires_grad=True), torch.ones(64, 256) * 2
    with place(str(DeviceName.parse(str(device)))):
        (x @ leaf).sum().backward()
    yield "gradient", leaf.grad, "cpu"


def chapter_01_block_and_function(device):
    name = str(DeviceName.parse(str(device)))
    x = torch.ones(3)

    @place(name)
    def double(values):
        return values + values

    with place("/cpu:0"):
        outer, called = x + x, double(x)
        with place(name), place("/cpu:0"):
            inner = x + x
    yield "called", called, device
    yield "outer and inner", [outer, inner], "cpu"
    with place(lambda op: name if op.name == "matmul" else None):
        yield "product", torch.ones(2, 2) @ torch.ones(2, 2), device
        yield "sum", torch.ones(2) + 1, "cpu"


def chapter_02_product(device):
    """With small whole numbers every step is exact in float32: the sum of all results by another road."""
    a, b = (whole(7, 150, 150, seed=s) - 3 for s in (0, 1))
    there = a.float().to(device)
    product = torch.mm(there, b.float().to(device))
    yield "product", product, device
    yield "back", product.cpu(), "cpu"
    yield "sum", [int(product.double().sum()) == int(a.sum(0) @ b.sum(1))], device


def chapter_02_dtypes(device):
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        a = torch.ones(8, 8, dtype=dtype, device=device)
        yield str(dtype), [a @ a, a + a, a.to(torch.float32)], device


def chapter_03_life(device):
    board = whole(2, 12, 16).to(torch.uint8)
    there = board.to(device)
    for engine in ("conv", "roll"):
        yield engine, life.run(there, 5, engine=engine), device
        yield (
            f"{engine} equals SciPy",
            torch.equal(life.run(there, 5, engine=engine).cpu(), life.run(board, 5, engine="scipy")),
            "cpu",
        )


def chapter_03_the_op(device):
    board = life.pattern("glider")
    board = torch.nn.functional.pad(board, (2, 3, 2, 3))
    yield "next", life.step(board.to(device)), device


def chapter_04_mean(device):
    """The sums are made on the device; the CPU adds them."""
    data = normal(1000, dtype=torch.float64)
    parts = [part.to(device) for part in data.chunk(3)]
    sums = [part.sum() for part in parts]
    yield "sums", sums, device
    yield "mean", sum(s.item() for s in sums) / 1000, "cpu"
    yield "as the course has it", abs(sum(s.item() for s in sums) / 1000 - mean(data, 3)) < 1e-12, "cpu"


def chapter_05_darts(device):
    x, y = torch.rand(2, 4096, generator=torch.Generator().manual_seed(5)).to(device)
    inside = ((x**2 + y**2) <= 1).sum()
    yield "inside", inside, device
    yield "pi", 4 * inside.item() / 4096, "cpu"


def chapter_06_regression(device):
    """y = 2x + 10 by SGD, and y = 2x + 0.2 by Adagrad."""
    for name, intercept, settings in (("SGD", 10.0, dict(lr=0.5)), ("Adagrad", 0.2, dict(lr=0.8))):
        x = torch.linspace(-1, 1, 101)
        y = (2 * x + intercept + 0.33 * normal(101)).to(device)
        x = x.to(device)
        slope = torch.zeros(1, device=device, requires_grad=True)
        offset = torch.zeros(1, device=device, requires_grad=True)
        optimiser = getattr(torch.optim, name)([slope, offset], **settings)
        for _ in range(20):
            optimiser.zero_grad()
            loss = torch.mean((slope * x + offset - y) ** 2)
            loss.backward()
            optimiser.step()
        yield name, [slope, offset, loss], device
        yield f"{name}'s state", optimiser, device


PROGRAMS = [
    chapter_01_six_ops, chapter_01_gradients_come_home, chapter_01_block_and_function, chapter_02_product,
    chapter_02_dtypes, chapter_03_life, chapter_03_the_op, chapter_04_mean, chapter_05_darts, chapter_06_regression,
]  # fmt: skip
