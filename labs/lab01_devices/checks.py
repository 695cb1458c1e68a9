"""Lab 01's exercises: programs of placed ops run line by line, rules and logs read, bytes counted. Marking's oracles.

Plain Python and numpy: a program is text, an op or a log is plain data, and nothing here needs a GPU, nor torch.
"""

import math
from contextlib import contextmanager
from functools import partial

import numpy as np

from course.checks.exercise import Exercise, strategy

from .cases import layer_shapes, logs, ops, placed_programs, product_shapes, requests
from .programs import program_complaint
from .traced import Traced, inputs, program_of

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


# ---- The checks ------------------------------------------------------------------------------------------------------


@contextmanager
def _watching():
    """The answer's program is read where the answer is called: what it was called with are copies."""

    def run(answer, arguments):
        got = answer(*arguments)
        return got, program_of(got) if isinstance(got, Traced) else None

    yield run


def _accepts(complaint):
    def accepts(got, lines, *arguments):
        shapes = {one.name: one.shape for one in arguments if isinstance(one, Traced)}
        if lines is None:
            return "a tensor made of the given ones was asked for"
        return complaint(lines, shapes, *(one for one in arguments if not isinstance(one, Traced))) or True

    return accepts


def _both(make):
    fixed, drawn = make(np.random.default_rng(1))
    return fixed + drawn


_drawn = partial(strategy, f"{__package__}.strategies")

EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "product_on_gpu",
            lambda: [tuple(inputs(shapes)) for (shapes,) in _both(product_shapes)],
            accepts=_accepts(product_complaint),
            inputs=_drawn("factors"),
            watch=_watching,
            hint='a.to("cuda:0") is a copy there; both factors must be where the product is; .cpu() brings it back.',
        ),
        Exercise(
            "layers_on_gpu",
            lambda: [(*inputs(shapes), steps) for shapes, steps in _both(layer_shapes)],
            accepts=_accepts(layers_complaint),
            inputs=_drawn("layers"),
            watch=_watching,
            hint="what does not change in a loop belongs in front of it; bring the result home after it.",
        ),
        Exercise(
            "device_for",
            lambda: _both(ops),
            asked_device,
            inputs=_drawn("ops"),
            hint="ask for a large product first; then add up rows × columns for each device, and compare the sums.",
        ),
        Exercise(
            "runs_on",
            lambda: _both(requests),
            where_it_runs,
            inputs=_drawn("requests"),
            hint="first the device's plain name, /kind:index; then is it there, and has its kind a kernel?",
        ),
        Exercise(
            "who_moved",
            lambda: _both(logs),
            largest_mover,
            inputs=_drawn("logs"),
            hint="keep a running sum of bytes; an op that computes takes it all and sets it to 0; a view does neither.",
        ),
        Exercise(
            "bytes_to_move",
            lambda: _both(placed_programs),
            bytes_between,
            inputs=_drawn("placed_programs"),
            hint="remember which tensor is on which device, a set of (name, device); only what is missing moves.",
        ),
    ]
}
