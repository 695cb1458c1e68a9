"""From one CPU to a cluster: the public names, in reading order. This file is the map of the house.

Every line of the course answers three questions: *where* does it run, *what moves* to get it there, *who waits*.

- `devices`: where a tensor lives, where an op runs, what moved
- `timing`: how long it takes, and what limits it
- `life`: one rule, five engines, the same cells
- `mapreduce`: parts on any executor, joined in an order that never changes
- `pi`: darts that are the same wherever they are thrown
- `replicas`: one step on several devices; ranks that add up
- `scale`: ten thousand workers in simulated seconds, and what machines cost
- `cluster`: named tasks in processes of their own
- `training`: parameter servers, workers, checkpoints, recovery
- `distance`: a slow line between real sockets, and what was recorded over it
- `tuning`: many short trainings, each with other hyperparameters
- `checks`: `check(answer)`: the smallest counterexample
- `widgets`: what a reader touches; they call engines and show with draw
- `commands`: what `python -m course …` prints, one file a command
- `draw`: pictures from plain data, in one look
- `traces`: figures that other machines took, and data sheets

Importing `course` is light: a name's module, and torch, dask or matplotlib with it, is loaded when first used.

>>> import course
>>> "estimate_pi" in dir(course)
True
"""

from importlib import import_module

from course.signals import held_back

__version__ = "0.1.0"

#: room -> the names a reader meets there.
ROOMS = {
    "course.devices": [
        "list_devices",
        "Device",
        "DeviceName",
        "place",
        "log_placement",
        "PlacementLog",
        "simulated_gpus",
        "SimulatedGPUs",
    ],
    "course.timing": ["measure", "Timing", "measure_matmul", "MatmulTiming", "crossover", "roofline", "Roofline"],
    "course.mapreduce": ["map_reduce", "mean"],
    "course.pi": ["estimate_pi", "PiEstimate"],
    "course.replicas": ["split_matmul", "replicate", "Replicas"],
    "course.cluster": ["ClusterSpec", "local_cluster", "Cluster"],
    "course.training": [
        "train",
        "linear_regression",
        "ParameterServer",
        "TrainingResult",
        "Hook",
        "StopAtStep",
        "StopOnNaN",
        "SaveCheckpoint",
        "Validate",
        "WriteSummaries",
        "StepRate",
        "ShowProgress",
        "Checkpoints",
    ],
    "course.tuning": ["tune", "TuningResult"],
    "course.checks": ["check"],
}

#: Rooms that are read as `life.step`, `draw.film`, `widgets.LifePlayer`; `serving` is the package modelserver.
MODULES = ["life", "widgets", "draw", "traces", "serving"]

_HOME = {name: room for room, names in ROOMS.items() for name in names}

__all__ = [*_HOME, *MODULES]


def __getattr__(name):
    with held_back():
        if name in MODULES:
            return import_module("modelserver" if name == "serving" else f"course.{name}")
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'course' has no {name!r}; its names are {', '.join(__all__)}")


def __dir__():
    return sorted({*globals(), *__all__})
