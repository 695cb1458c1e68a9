"""What lab 01's answers must be: programs of placed ops run line by line, rules and logs read, bytes counted.

Plain Python and numpy: a program is text, an op or a log is plain data, and nothing here needs a GPU, nor torch.
"""

import math

import numpy as np

from .programs import program_complaint

MILLION = 1_000_000


# ---- 1, 2. Programs --------------------------------------------------------------------------------------------------


def product_complaint(lines, shapes):
    """Judge a program of exercise 1."""
    return program_complaint(lines, shapes, np.matmul, "a @ b")


def layers_complaint(lines, shapes, steps):
    """Judge a program of exercise 2."""
    return program_complaint(
        lines, shapes, lambda x, w: layers_here(x, w, steps), f"that of {steps} layer{'s' * (steps != 1)}"
    )


def layers_here(x, w, steps):
    """`steps` layers, one after another, where nothing has to move."""
    for _ in range(steps):
        x = np.maximum(x @ w, 0)
    return x


# ---- 3. Place by function --------------------------------------------------------------------------------------------


def asked_device(op):
    """The rule as it is worded, every device tried in turn."""
    if op["name"] == "matmul":
        (rows, inner), (_, columns) = op["shapes"]
        if rows * inner * columns >= MILLION:
            return "/gpu:0"
    numbers = {}
    for shape, device in zip(op["shapes"], op["devices"], strict=True):
        numbers[device] = numbers.get(device, 0) + math.prod(shape)
    for device in numbers:
        if all(numbers[device] > numbers[other] for other in numbers if other != device):
            return device
    return "/cpu:0"


# ---- 4. Softly -------------------------------------------------------------------------------------------------------


def where_it_runs(wanted, present, kernels):
    """All spellings of all devices that are there are written down; then the request is looked up among them."""
    spelled = {}
    for device in present:
        kind, index = device[1:].split(":")
        for word in (kind, "cuda") if kind == "gpu" else (kind,):
            for start in ("", "/", "/device:"):
                spelled[f"{start}{word}:{index}"] = device
                if index == "0":
                    spelled[f"{start}{word}"] = device
    found = spelled.get(wanted.lower())
    if found and found[1:].split(":")[0] in kernels:
        return found
    return "/cpu:0" if "cpu" in kernels else "nowhere"


# ---- 5. Who moved it? ------------------------------------------------------------------------------------------------


def largest_mover(log):
    """From each op that computes back to the one before it: the bytes of the copies between the two."""
    best = (-1, 0)
    for position, record in enumerate(log):
        before, moved = position, 0
        while not _is_copy(record) and not record["view"] and before > 0:
            before -= 1
            if not _is_copy(log[before]) and not log[before]["view"]:
                break
            moved += log[before]["bytes_moved"]
        if moved > best[1]:
            best = (position, moved)
    return best


def _is_copy(record):
    return record["bytes_moved"] > 0


# ---- 6. What does a placement move? ----------------------------------------------------------------------------------


def bytes_between(program, places):
    """Tensor by tensor: on how many devices is it read, other than the one where it was made? Each costs its bytes."""
    total = 0
    for tensor in program:
        readers = {places[op["name"]] for op in program if tensor["name"] in op["inputs"]}
        if tensor is program[-1]:
            readers.add("/cpu:0")
        total += len(readers - {places[tensor["name"]]}) * 4 * math.prod(tensor["shape"])
    return total
