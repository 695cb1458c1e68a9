"""Lab 04's exercises on names: a job renamed, a place found in a spec, ops that ran away from where they were pinned.

The oracles look at whole pieces between slashes, or write every place out; they are marking's too. No cluster runs.
"""

from contextlib import nullcontext
from functools import partial

from course.checks.exercise import Exercise, same, show, strategy

# ---- A job renamed ---------------------------------------------------------------------------------------------------


def renamed_piece_by_piece(jobs, places, old, new):
    """A place is cut at every slash; only a piece that is the job's, whole, is written anew."""
    pieces = [[f"job:{new}" if piece == f"job:{old}" else piece for piece in place.split("/")] for place in places]
    return {new if job == old else job: list(hosts) for job, hosts in jobs.items()}, ["/".join(p) for p in pieces]


RENAMINGS = [
    ({"local": ["a:2222"]}, ["/job:local/task:0"], "local", "summer"),
    ({"local": ["localhost:2222", "localhost:2223"]}, ["/job:local/task:1", "/gpu:0"], "local", "summer"),
    ({"ps": ["a:1"], "psi": ["b:1"]}, ["/job:psi/task:0", "/job:ps/task:0/cpu:0"], "ps", "server"),
    ({"ps": ["ps:1"], "ups": ["ps:2"]}, ["/job:ups/task:0", "/job:ps"], "ps", "store"),
    ({"task": ["a:1", "a:2"]}, ["/job:task/task:1", "/job:task/task:0/gpu:1"], "task", "worker"),
    ({"w.1": ["a:1"], "wx1": ["a:2"]}, ["/job:wx1/task:0", "/job:w.1/task:0"], "w.1", "w"),
    ({"ps": ["a:1"], "worker": ["a:2", "b:2"]}, [], "worker", "gpu"),
]


def _and_what_is_left(rename_job, arguments):
    # the answer has copies of the case's arguments; what it did to them is part of its answer
    return rename_job(*arguments), arguments[:2]


def _renamed(got, left, jobs, places, old, new):
    wanted = renamed_piece_by_piece(jobs, places, old, new)
    try:
        there, pins = got
        given = {job: list(hosts) for job, hosts in there.items()}, list(pins)
    except (TypeError, ValueError, AttributeError):
        return "give a pair: the dictionary of jobs and the list of places"
    if tuple(left) != (jobs, places):
        return "it changed its input; make a new dictionary and a new list, since the old ones may be in use"
    return given == wanted or f"expected {show(wanted)}"


# ---- Places ----------------------------------------------------------------------------------------------------------


def looked_up(jobs, place):
    """Every place that the cluster has is written out, and looked for; None where it isn't among them."""
    for job, addresses in jobs.items():
        for index, address in enumerate(addresses):
            name = f"/job:{job}/task:{index}"
            if place == name:
                return address, "/cpu:0"
            if place.startswith(f"{name}/"):
                return address, place[len(name) :]
    return None


SMALL = {"ps": ["a:1"], "local": ["b:1", "b:2"]}
CLUSTER = {"ps": ["a:2222"], "local": [f"localhost:{2200 + task}" for task in range(12)]}
PINS = [
    (SMALL, "/job:local/task:0/gpu:0"),
    (SMALL, "/job:ps/task:0"),
    (SMALL, "/job:local/task:1/cpu:3"),
    (SMALL, "/job:ps/task:1"),
    (SMALL, "/job:loca/task:0"),
    (SMALL, "/job:worker/task:0/gpu:0"),
    (CLUSTER, "/job:local/task:1/cpu:0"),
    (CLUSTER, "/job:local/task:10/gpu:12"),
    (CLUSTER, "/job:local/task:12/gpu:0"),
]


def away_from(record, place):
    """A device is home when its name, piece by piece, begins with the place's."""
    home = place.split("/")
    return [
        op["op"]
        for op in record
        if not op["view"] and op["bytes_moved"] == 0 and op["device"].split("/")[: len(home)] != home
    ]


def op(name, device, view=False, bytes_moved=0):
    """Return one line of a record, as `log_placement` keeps it: on which device an op ran, and what it moved."""
    return {"op": name, "device": device, "view": view, "bytes_moved": bytes_moved}


HOME = "/job:local/task:0/gpu:0"
RECORDS = [
    ([], HOME),
    ([op("mm", HOME)], HOME),
    ([op("mm", "/job:local/task:0/cpu:0")], HOME),
    ([op("mm", HOME), op("add", "/job:local/task:1/gpu:0")], HOME),
    ([op(name, "/job:local/task:0/cpu:0") for name in ("mm", "add", "mm")], HOME),
    ([op("t", "/job:local/task:0/cpu:0", view=True), op("_to_copy", HOME, bytes_moved=64), op("mm", HOME)], HOME),
    ([op("_to_copy", "/job:local/task:0/cpu:0", bytes_moved=8), op("exp", "/job:ps/task:0/cpu:0")], HOME),
    ([op("mm", "/job:local/task:1/gpu:0"), op("mm", "/job:local/task:10/gpu:0")], "/job:local/task:1"),
    ([op("mm", "/job:local/task:0/gpu:10"), op("mm", "/job:local/task:0/gpu:1")], "/job:local/task:0/gpu:1"),
    ([op("mm", HOME), op("relu", "/job:local/task:0/cpu:0")], "/job:local/task:0"),
]


def _refuses(locate, arguments):
    # a ValueError is the right answer where there is no such place, so it must not end the check
    try:
        return locate(*arguments), "returned"
    except ValueError:
        return False, "refused"


def _located(got, seen, jobs, place):
    wanted = looked_up(jobs, place)
    if wanted is None:
        return seen == "refused" or "expected a ValueError: there is no such task"
    return (seen == "returned" and same(got, wanted)) or f"expected {wanted}"


_drawn = partial(strategy, f"{__package__}.strategies")

EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "rename_job",
            lambda: RENAMINGS,
            accepts=_renamed,
            watch=lambda: nullcontext(_and_what_is_left),
            inputs=_drawn("renamings"),
            hint='"localhost" has "local" in it; place.split("/") gives pieces that can be compared whole.',
        ),
        Exercise(
            "locate",
            lambda: PINS,
            accepts=_located,
            watch=lambda: nullcontext(_refuses),
            inputs=_drawn("places"),
            hint="take job, task and device apart first; then ask the dictionary, and the list that it gives.",
        ),
        Exercise(
            "strays",
            lambda: RECORDS,
            away_from,
            inputs=_drawn("records"),
            hint="/gpu:1 is how /gpu:10 begins: compare whole pieces between the slashes.",
        ),
    ]
}
