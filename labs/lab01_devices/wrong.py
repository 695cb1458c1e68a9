"""What plausible wrong answers to lab 01 look like, and the slow specifications: the lab's self-test marks them all.

`Edit` changes the solution in `lab.py`; source text stands for the whole answer.
"""

from grader.lab.spec import Edit

SPECIFICATION = {
    # right and slow there is not: the right program is five lines, however it is written
    "product_on_gpu": """
def product_on_gpu(a, b):
    a_there = a.cuda()
    b_there = b.cuda()
    product_there = a_there.matmul(b_there)
    return product_there.cpu()
""",
    "layers_on_gpu": """
def layers_on_gpu(x, w, steps):
    for _ in range(steps):
        x = (x @ w).relu()
    return x
""",
    "device_for": """
def device_for(op):
    if op["name"] == "matmul":
        (rows, inner), (inner, columns) = op["shapes"]
        if rows * inner * columns >= 10**6:
            return "/gpu:0"
    numbers = {}
    for shape, device in zip(op["shapes"], op["devices"]):
        count = 1
        for length in shape:
            count *= length
        numbers[device] = numbers.get(device, 0) + count
    for device in numbers:
        if all(numbers[device] > numbers[other] for other in numbers if other != device):
            return device
    return "/cpu:0"
""",
    "runs_on": """
def runs_on(wanted, present, kernels):
    spelled = {}
    for device in present:
        kind, number = device.strip("/").split(":")
        words = [kind, "cuda"] if kind == "gpu" else [kind]
        for word in words:
            for start in ("", "/", "/device:", "device:"):
                spelled[f"{start}{word}:{number}"] = device
                if number == "0":
                    spelled[f"{start}{word}"] = device
    device = spelled.get(wanted.lower())
    if device is not None and device.strip("/").split(":")[0] in kernels:
        return device
    if "cpu" in kernels:
        return "/cpu:0"
    return "nowhere"
""",
    "who_moved": """
def who_moved(log):
    best = (-1, 0)
    for position in range(len(log)):
        if log[position]["bytes_moved"] or log[position]["view"]:
            continue
        moved = 0
        for before in range(position - 1, -1, -1):
            if not log[before]["bytes_moved"] and not log[before]["view"]:
                break
            moved += log[before]["bytes_moved"]
        if moved > best[1]:
            best = (position, moved)
    return best
""",
    "bytes_to_move": """
def bytes_to_move(program, places):
    total = 0
    for tensor in program:
        devices = {places[other["name"]] for other in program if tensor["name"] in other["inputs"]}
        if tensor is program[-1]:
            devices.add("/cpu:0")
        devices.discard(places[tensor["name"]])
        total += len(devices) * 4 * math.prod(tensor["shape"])
    return total
""",
}

WRONG = {
    "product_on_gpu": {
        "on the CPU": "def product_on_gpu(a, b):\n    return a @ b\n",
        "it stays on the GPU": Edit('there.to("cpu")', "there"),
        "only one factor moves": Edit('b.to("cuda:0")', "b"),
        "on the wrong GPU": """
def product_on_gpu(a, b):
    return (a.to("cuda:1") @ b.to("cuda:1")).cpu()
""",
        "computed here, then sent there and back": """
def product_on_gpu(a, b):
    return (a @ b).to("cuda:0").to("cpu")
""",
        "moved and the copies forgotten": """
def product_on_gpu(a, b):
    a.to("cuda:0")
    b.to("cuda:0")
    return a @ b
""",
        "a factor moves twice": """
def product_on_gpu(a, b):
    a.to("cuda:0")
    return (a.to("cuda:0") @ b.to("cuda:0")).to("cpu")
""",
        "home by way of the other GPU": Edit('there.to("cpu")', 'there.to("cuda:1").to("cpu")'),
    },
    "layers_on_gpu": {
        "home after every layer": """
def layers_on_gpu(x, w, steps):
    for _ in range(steps):
        x = (x.to("cuda:0") @ w.to("cuda:0")).relu().cpu()
    return x
""",
        "w moves in every step": """
def layers_on_gpu(x, w, steps):
    x = x.to("cuda:0")
    for _ in range(steps):
        x = (x @ w.to("cuda:0")).relu()
    return x.to("cpu")
""",
        "relu on the CPU": """
def layers_on_gpu(x, w, steps):
    w = w.to("cuda:0")
    for _ in range(steps):
        x = (x.to("cuda:0") @ w).to("cpu").relu()
    return x
""",
        "one layer only": Edit("range(steps)", "range(1)"),
        "one layer too many": Edit("range(steps)", "range(steps + 1)"),
        "no relu": Edit("(x @ w).relu()", "x @ w"),
        "relu only at the end": """
def layers_on_gpu(x, w, steps):
    x, w = x.cuda(), w.cuda()
    for _ in range(steps):
        x = x @ w
    return x.relu().cpu()
""",
        "the factors exchanged": Edit("(x @ w).relu()", "(w @ x).relu()"),
        "it stays on the GPU": Edit('x.to("cpu")', "x"),
        "every layer from the first x": """
def layers_on_gpu(x, w, steps):
    x, w = x.cuda(), w.cuda()
    y = x
    for _ in range(steps):
        y = (x @ w).relu()
    return y.cpu()
""",
    },
    "device_for": {
        "more than a million": Edit(">= 1_000_000", "> 1_000_000"),
        "results are counted, not multiplications": Edit("rows * inner * columns", "rows * columns"),
        "operations are counted": Edit("rows * inner * columns", "2 * rows * inner * columns"),
        "every large op": """
def device_for(op):
    held = {}
    for shape, device in zip(op["shapes"], op["devices"]):
        held[device] = held.get(device, 0) + math.prod(shape)
    if sum(held.values()) >= 1_000_000:
        return "/gpu:0"
    most = max(held.values(), default=0)
    holders = [device for device in held if held[device] == most]
    return holders[0] if len(holders) == 1 else "/cpu:0"
""",
        "small products to the CPU": Edit(
            '            return "/gpu:0"\n', '            return "/gpu:0"\n        return "/cpu:0"\n'
        ),
        "most tensors, not most numbers": Edit("+ math.prod(shape)", "+ 1"),
        "the largest tensor decides": Edit(
            "held.get(device, 0) + math.prod(shape)", "max(held.get(device, 0), math.prod(shape))"
        ),
        "the first wins a tie": Edit("if len(holders) == 1 ", "if holders "),
        "rows are counted": Edit("math.prod(shape)", "shape[0]"),
        "lengths are added": Edit("math.prod(shape)", "sum(shape)"),
        "fails without inputs": Edit("max(held.values(), default=0)", "max(held.values())"),
        "products only": """
def device_for(op):
    if op["name"] != "matmul":
        return "/cpu:0"
    (rows, inner), (_, columns) = op["shapes"]
    return "/gpu:0" if rows * inner * columns >= 1_000_000 else "/cpu:0"
""",
    },
    "runs_on": {
        "kernels are not asked": Edit("if device in present and kind in kernels:", "if device in present:"),
        "what is there is not asked": Edit("if device in present and kind in kernels:", "if kind in kernels:"),
        "large letters are not read": Edit("wanted.lower()", "wanted"),
        "cuda is not read": Edit('.replace("cuda", "gpu")', ""),
        "TensorFlow's spelling is not read": Edit('.removeprefix("device:")', ""),
        "a name without a number is nowhere": Edit("{number or 0}", "{number}"),
        "never nowhere": Edit('return "/cpu:0" if "cpu" in kernels else "nowhere"', 'return "/cpu:0"'),
        "never softly": Edit('return "/cpu:0" if "cpu" in kernels else "nowhere"', 'return "nowhere"'),
        "another GPU instead": Edit(
            "    if device in present and kind in kernels:",
            '    if device not in present and kind in kernels and "/gpu:0" in present:\n        return "/gpu:0"\n'
            "    if device in present and kind in kernels:",
        ),
        "numbers of one digit": Edit("{number or 0}", "{(number or '0')[0]}"),
        "torch's names": Edit("        return device\n", '        return device[1:].replace("gpu", "cuda")\n'),
    },
    "who_moved": {
        "the largest single copy": """
def who_moved(log):
    best, copy = (-1, 0), 0
    for position, line in enumerate(log):
        if line["bytes_moved"]:
            copy = max(copy, line["bytes_moved"])
        elif not line["view"]:
            if copy > best[1]:
                best = (position, copy)
            copy = 0
    return best
""",
        "the copy, not the op that asked": """
def who_moved(log):
    best = (-1, 0)
    for position, line in enumerate(log):
        if line["bytes_moved"] > best[1]:
            best = (position, line["bytes_moved"])
    return best
""",
        "a view takes the copies": Edit('if line["bytes_moved"] or line["view"]:', 'if line["bytes_moved"]:'),
        "the sum is never set to 0": Edit("        waiting = 0\n", ""),
        "the last of several": Edit("waiting > best[1]", "waiting >= best[1] > 0 or waiting > best[1]"),
        "bytes first": Edit("    return best", "    return best[::-1]"),
        "counts from one": Edit("enumerate(log)", "enumerate(log, 1)"),
        "copies at the end belong to the last op": Edit(
            "    return best",
            """\
    computing = [n for n, line in enumerate(log) if not line["bytes_moved"] and not line["view"]]
    if computing:
        start = computing[-2] + 1 if len(computing) > 1 else 0
        last = sum(line["bytes_moved"] for line in log[start:])
        best = (computing[-1], last) if last > best[1] else best
    return best""",
        ),
        "position 0 when nothing moved": Edit("best, waiting = (-1, 0), 0", "best, waiting = (0, 0), 0"),
        "all that ever moved": """
def who_moved(log):
    computing = [n for n, line in enumerate(log) if not line["bytes_moved"] and not line["view"]]
    moved = sum(line["bytes_moved"] for line in log)
    return (computing[0], moved) if computing and moved else (-1, 0)
""",
    },
    "bytes_to_move": {
        "numbers, not bytes": Edit("4 * math.prod", "math.prod"),
        "copies do not stay": Edit("            there.add((name, device))\n", ""),
        "the result stays where it is": Edit('[*needed, (program[-1]["name"], "/cpu:0")]', "needed"),
        "every tensor comes home": Edit(
            '[*needed, (program[-1]["name"], "/cpu:0")]', '[*needed, *((name, "/cpu:0") for name in places)]'
        ),
        "only the first input": Edit('for name in tensor["inputs"]]', 'for name in tensor["inputs"][:1]]'),
        "the size of the result moves": Edit(
            "needed = [(name, places",
            'size = {**size, **{n: size[t["name"]] for t in program for n in t["inputs"]}}\n'
            "    needed = [(name, places",
        ),
        "a tensor is in one place only": """
def bytes_to_move(program, places):
    size = {tensor["name"]: 4 * math.prod(tensor["shape"]) for tensor in program}
    where, moved = dict(places), 0
    for tensor in program:
        for name in tensor["inputs"]:
            if where[name] != places[tensor["name"]]:
                where[name] = places[tensor["name"]]
                moved += size[name]
    return moved + (size[program[-1]["name"]] if where[program[-1]["name"]] != "/cpu:0" else 0)
""",
        "everything comes from the CPU": Edit("there = set(places.items())", 'there = {(n, "/cpu:0") for n in places}'),
        "a scalar has no bytes": Edit('4 * math.prod(tensor["shape"])', '4 * sum(tensor["shape"]) // 1'),
        "the first axis only": Edit('math.prod(tensor["shape"])', '(tensor["shape"] or [1])[0]'),
    },
}
