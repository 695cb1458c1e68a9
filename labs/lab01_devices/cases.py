"""What lab 01 asks about, the smallest first: shapes, ops, requests, logs, placed programs. Some fixed, some drawn.

Each function takes a numpy Generator and returns two lists of argument tuples: what everybody is asked, and what was
drawn.
"""

GPUS = ("/gpu:0", "/gpu:1")


def product_shapes(draw):
    """Shapes of two factors, by name."""
    fixed = [(1, 1, 1), (2, 3, 2), (1, 4, 3)]
    drawn = [tuple(int(n) for n in draw.integers(2, 9, 3)) for _ in range(3)]
    return tuple(
        [({"a": (rows, inner), "b": (inner, columns)},) for rows, inner, columns in sizes] for sizes in (fixed, drawn)
    )


def layer_shapes(draw):
    """Shapes of `x` and `w`, and a number of layers."""
    fixed = [(1, 1, 1), (2, 3, 1), (2, 3, 2), (3, 2, 0)]
    drawn = [(int(draw.integers(1, 6)), int(draw.integers(2, 5)), int(draw.integers(3, 8))) for _ in range(3)]
    return tuple(
        [({"x": (rows, size), "w": (size, size)}, steps) for rows, size, steps in sizes] for sizes in (fixed, drawn)
    )


def ops(draw):
    """Ops: products around a million multiplications, majorities and ties."""
    fixed = [
        op_of("zeros"),
        op_of("relu", ((1000, 1000), "/cpu:0")),
        op_of("relu", ((1000, 1000), "/gpu:1")),
        op_of("matmul", ((1, 1), "/cpu:0"), ((1, 1), "/cpu:0")),
        op_of("matmul", ((100, 100), "/cpu:0"), ((100, 100), "/cpu:0")),
        op_of("matmul", ((100, 99), "/cpu:0"), ((99, 101), "/cpu:0")),
        op_of("matmul", ((27, 37), "/cpu:0"), ((37, 1001), "/cpu:0")),  # 999 999 multiplications
        op_of("matmul", ((1000, 1), "/gpu:1"), ((1, 1000), "/gpu:1")),
        op_of("matmul", ((1000, 999), "/gpu:1"), ((999, 1), "/cpu:0")),
        op_of("matmul", ((10, 30), "/gpu:0"), ((30, 20), "/gpu:1")),
        op_of("add", ((30, 30), "/gpu:1"), ((30, 30), "/gpu:0")),
        op_of("add", ((30, 30), "/cpu:0"), ((30,), "/gpu:0")),
        op_of("add", ((30, 30), "/gpu:1"), ((30,), "/gpu:0")),
        op_of("add", ((2000, 2000), "/gpu:0"), ((2000, 2000), "/gpu:0")),
        op_of("cat", ((4, 2), "/gpu:0"), ((3, 2), "/gpu:1"), ((3, 2), "/gpu:1")),
        op_of("cat", ((1, 6), "/gpu:0"), ((2, 4), "/gpu:1")),  # fewer numbers, in a longer shape
        op_of("cat", ((4, 2), "/gpu:1"), ((2, 2), "/cpu:0"), ((2, 2), "/cpu:0")),
    ]
    return [(op,) for op in fixed], [(_drawn_op(draw),) for _ in range(14)]


def _drawn_op(draw):
    where = [str(draw.choice(["/cpu:0", *GPUS])) for _ in range(4)]
    if draw.random() < 0.4:
        rows, inner, columns = (int(n) for n in draw.integers(60, 160, 3))
        return op_of("matmul", ((rows, inner), where[0]), ((inner, columns), where[1]))
    shapes = [tuple(int(n) for n in draw.integers(1, 6, 2)) for _ in range(int(draw.integers(1, 5)))]
    return op_of("einsum", *zip(shapes, where, strict=False))


def op_of(name, *inputs):
    """Return an op as exercise 3 describes it; an input is a shape and a device."""
    shapes, devices = zip(*inputs, strict=True) if inputs else ((), ())
    return {"name": name, "shapes": list(shapes), "devices": list(devices)}


def requests(draw):
    """What was asked for, what is there, what has kernels."""
    here, four = ["/cpu:0"], ["/cpu:0", "/gpu:0", "/gpu:1", "/gpu:2", "/gpu:10"]
    fixed = [
        *[("/cpu:0", here, ["cpu"]), ("/gpu:0", ["/cpu:0", "/gpu:0"], ["cpu", "gpu"]), ("/gpu:0", here, ["gpu"])],
        *[("/gpu:0", here, ["cpu", "gpu"]), ("/gpu:1", four, ["cpu"]), ("/gpu:1", four, ["gpu"])],
        *[("cuda:1", four, ["cpu", "gpu"]), ("/device:GPU:2", four, ["cpu", "gpu"]), ("cuda", four, ["gpu"])],
        *[("cpu", four, ["gpu"]), ("cpu", four, ["cpu", "gpu"]), ("/GPU:10", four, ["cpu", "gpu"])],
        *[("/gpu:11", four, ["cpu", "gpu"]), ("/device:CPU:0", four, ["cpu"]), ("/cpu:0", four, [])],
    ]
    return fixed, [_request(draw) for _ in range(14)]


def _request(draw):
    present = ["/cpu:0", *(f"/gpu:{n}" for n in range(int(draw.integers(0, 4))))]
    kernels = [kind for kind in ("cpu", "gpu") if draw.random() < 0.75]
    spelling = str(draw.choice(["/gpu:{}", "cuda:{}", "/device:GPU:{}", "gpu:{}", "/cpu:0", "cpu"]))
    return spelling.format(int(draw.integers(0, 4))), present, kernels


def logs(draw):
    """Logs; among them one with the op that moved 40 MB, in two copies of 20."""
    forty = "copy20000000 copy20000000 mm relu copy30000000 add sum"
    fixed = ["", "mm", "copy16 mm", "relu copy16 mm", "copy16 mm copy16 relu", "copy8 t copy8 mm copy12 add", forty]
    fixed += ["copy12 add copy4 copy4 mm copy16", "copy4 view", "mm copy40 relu sum", "copy4 copy4 copy4 add copy8 mm"]
    words = ["mm", "relu", "add", "view", "t", "copy4", "copy400", "copy1200", "copy1600"]
    drawn = [" ".join(draw.choice(words, int(length))) for length in draw.integers(8, 30, 5)]
    return tuple([(log_of(text.split()),) for text in texts] for texts in (fixed, drawn))


def log_of(words):
    """Return a log: `copy400` is a copy of 400 bytes, `view` and `t` are views, any other word an op that computes."""
    return [_record(word) for word in words]


def _record(word):
    if word.startswith("copy"):
        return {"op": "_to_copy", "bytes_moved": int(word[4:]), "view": False}
    return {"op": word, "bytes_moved": 0, "view": word in ("view", "t")}


def placed_programs(draw):
    """Programs and their places."""
    line = [tensor_of("x", (2, 3)), tensor_of("h", (2, 3), "x"), tensor_of("y", (2,), "h")]
    twice = [
        tensor_of("x", (4, 2)),
        tensor_of("a", (4, 2), "x"),
        tensor_of("b", (4, 2), "x"),
        tensor_of("c", (4, 2), "a", "b"),
    ]
    square = [tensor_of("x", (5, 5)), tensor_of("y", (5, 5), "x", "x"), tensor_of("z", (), "y")]
    fixed = [
        (line, "/cpu:0 /cpu:0 /cpu:0"),
        (line, "/cpu:0 /gpu:0 /cpu:0"),
        (line, "/cpu:0 /gpu:0 /gpu:0"),
        (line, "/gpu:0 /gpu:0 /gpu:1"),
        (square, "/cpu:0 /gpu:0 /gpu:0"),
        (twice, "/cpu:0 /gpu:0 /gpu:0 /gpu:0"),
        (twice, "/cpu:0 /gpu:0 /cpu:0 /cpu:0"),
        (twice, "/cpu:0 /gpu:0 /gpu:1 /gpu:0"),
        (twice, "/gpu:0 /cpu:0 /cpu:0 /gpu:0"),
    ]
    cases = [(program, dict(zip(_names(program), text.split(), strict=True))) for program, text in fixed]
    return cases, [_drawn_program(draw, int(length)) for length in draw.integers(4, 12, 5)]


def _drawn_program(draw, length):
    program = [tensor_of("x0", (3, 4)), tensor_of("x1", (4,))]
    for number in range(2, length):
        shape = [int(n) for n in draw.integers(1, 7, int(draw.integers(0, 3)))]
        read = draw.choice(_names(program), int(draw.integers(1, 4)))
        program.append(tensor_of(f"x{number}", shape, *(str(name) for name in read)))
    return program, {name: str(draw.choice(["/cpu:0", *GPUS])) for name in _names(program)}


def tensor_of(name, shape, *read):
    """Return a tensor of a program that is computed from those it `read`."""
    return {"name": name, "shape": list(shape), "inputs": list(read)}


def _names(program):
    return [tensor["name"] for tensor in program]
