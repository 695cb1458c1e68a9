"""Lab 01's exercises: programs of placed ops, rules, requests, logs, and what a placement moves."""

from functools import partial

from course.checks.exercise import Exercise, asking, by_name, strategy

from . import cases, oracles
from .traced import drive, inputs

_drawn = partial(strategy, f"{__package__}.strategies")


def _tensors(shapes, *more):
    """Put the arguments of a placed program into words: tensors without numbers, then the rest."""
    return ", ".join(map(repr, [*inputs(shapes), *more]))


EXERCISES = by_name(
    Exercise(
        "product_on_gpu",
        asking(cases.product_shapes),
        judge=lambda case, lines: oracles.product_complaint(lines, *case.arguments),
        call=drive,
        told=_tensors,
        inputs=_drawn("factors"),
        oracle="your program, run line by line on whole numbers: its result against `a @ b`, its devices and its bytes",
        hint='a.to("cuda:0") is a copy there; both factors must be where the product is; .cpu() brings it back.',
    ),
    Exercise(
        "layers_on_gpu",
        asking(cases.layer_shapes),
        judge=lambda case, lines: oracles.layers_complaint(lines, *case.arguments),
        call=drive,
        told=_tensors,
        inputs=_drawn("layers"),
        oracle="your program, run line by line on whole numbers, against the loop where nothing has to move",
        hint="what does not change in a loop belongs in front of it; bring the result home after it.",
    ),
    Exercise(
        "device_for",
        asking(cases.ops),
        oracles.asked_device,
        inputs=_drawn("ops"),
        oracle="the two sentences, every device compared with every other",
        hint="ask for a large product first; then add up rows × columns for each device, and compare the sums.",
    ),
    Exercise(
        "runs_on",
        asking(cases.requests),
        oracles.where_it_runs,
        inputs=_drawn("requests"),
        oracle="a list of all spellings of all devices that are there",
        hint="first the device's plain name, /kind:index; then is it there, and has its kind a kernel?",
    ),
    Exercise(
        "who_moved",
        asking(cases.logs),
        oracles.largest_mover,
        inputs=_drawn("logs"),
        oracle="from every line that computes, back to the one before it",
        hint="keep a running sum of bytes; an op that computes takes it all and sets it to 0; a view does neither.",
    ),
    Exercise(
        "bytes_to_move",
        asking(cases.placed_programs),
        oracles.bytes_between,
        inputs=_drawn("placed_programs"),
        oracle="tensor by tensor, the devices that need it and did not make it",
        hint="remember which tensor is on which device, a set of (name, device); only what is missing moves.",
    ),
)
