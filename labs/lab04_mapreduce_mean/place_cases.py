"""What lab 04 asks about names, the smallest first: jobs to rename, places, records of ops. Some fixed, some drawn."""

from course.checks.exercise import Case

from .oracles import looked_up

# ---- A job renamed ---------------------------------------------------------------------------------------------------

RENAMINGS = [
    ({"local": ["a:2222"]}, ["/job:local/task:0"], "local", "summer"),
    ({"local": ["localhost:2222", "localhost:2223"]}, ["/job:local/task:1", "/gpu:0"], "local", "summer"),
    ({"ps": ["a:1"], "psi": ["b:1"]}, ["/job:psi/task:0", "/job:ps/task:0/cpu:0"], "ps", "server"),
    ({"ps": ["ps:1"], "ups": ["ps:2"]}, ["/job:ups/task:0", "/job:ps"], "ps", "store"),
    ({"task": ["a:1", "a:2"]}, ["/job:task/task:1", "/job:task/task:0/gpu:1"], "task", "worker"),
    ({"w.1": ["a:1"], "wx1": ["a:2"]}, ["/job:wx1/task:0", "/job:w.1/task:0"], "w.1", "w"),
    ({"ps": ["a:1"], "worker": ["a:2", "b:2"]}, [], "worker", "gpu"),
]


def renamings(draw):
    """Return (jobs, places, old name, new name), fixed and drawn."""
    return RENAMINGS, [_renaming(draw, count) for count in (1, 2, 4)]


def _renaming(draw, count):
    stem = f"{_word(draw, 2)}.{_word(draw, 1)}"  # a dot is legal in a name, and matches anything in a pattern
    alike = [stem.replace(".", "z"), f"{stem}{_word(draw, 1)}", f"{_word(draw, 1)}{stem}", f"{stem}-2"]
    names = [stem, *alike[:count]]
    draw.shuffle(names)
    jobs = {name: [f"{stem}{index}:{int(draw.integers(1000, 9999))}" for index in range(1, 3)] for name in names}
    pins = [f"/job:{name}/task:{draw.integers(0, 2)}" + str(draw.choice(["", "/gpu:1", "/cpu:0"])) for name in names]
    return jobs, [*pins, f"/job:{stem}", "/gpu:0", f"/job:{stem}/cpu:0"], stem, f"{stem}x{_word(draw, 3)}"


def _word(draw, length):
    return "".join(draw.choice(list("abcdefghijklmnopqrstuvwyz"), length))


# ---- Places ----------------------------------------------------------------------------------------------------------

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


def pins(draw):
    """Return `Case`s of (spec, place) in two groups: places that are there, and places that aren't."""
    drawn = [pin for _ in range(4) for pin in _pins(draw)]
    asked = [(pin, True) for pin in PINS] + [(pin, False) for pin in drawn]
    cases = [Case(pin, edge, "found" if looked_up(*pin) else "refused") for pin, edge in asked]
    # who refuses everything has refused nothing well: places that are there, wherever it says they are
    return [*cases, Case(PINS[0], True, "refused"), *(Case(pin, group="refused") for pin in drawn[:2])]


def _pins(draw):
    names = [_word(draw, 4), f"gpu{_word(draw, 2)}"]
    jobs = {name: [f"{_word(draw, 3)}:{port}" for port in draw.integers(1000, 9999, 14)] for name in names}
    some, other = jobs
    there, beyond, device = (int(number) for number in draw.integers((0, 14, 0), (14, 40, 12)))
    yield jobs, f"/job:{some}/task:{there}/{draw.choice(['gpu', 'cpu'])}:{device}"
    yield jobs, f"/job:{other}/task:{there}"
    yield jobs, f"/job:{other}/task:{draw.integers(10, 14)}/gpu:{device}"
    yield jobs, f"/job:{other}/task:{beyond}/gpu:0"
    yield jobs, f"/job:{some[:-1]}/task:0"


# ---- Records ---------------------------------------------------------------------------------------------------------


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


def records(draw):
    """Return (record of ops, the place that they were pinned to), fixed and drawn."""
    drawn = [_record(draw, count) for count in (4, 9, 20, 60)]
    alike = [(_record(draw, 30)[0], place) for place in ("/job:w/task:1/gpu:1", "/job:w/task:1")]
    return RECORDS, drawn + alike


def _record(draw, count):
    # tasks 1 and 1x, GPUs 1 and 1x: names that begin like each other
    devices = [f"/job:w/task:{task}/{kind}" for task in (1, 10, 12) for kind in ("cpu:0", "gpu:1", "gpu:10")]
    record = [_op(draw, str(draw.choice(devices))) for _ in range(count)]
    return record, str(draw.choice([*devices, "/job:w/task:1", "/job:w/task:10"]))


def _op(draw, device):
    name = str(draw.choice(["mm", "add", "relu", "exp", "sum", "t", "copy_"]))
    kind = draw.choice(3, p=(0.6, 0.2, 0.2))
    return op(name, device, view=bool(kind == 1), bytes_moved=int(draw.integers(4, 4096)) if kind == 2 else 0)
