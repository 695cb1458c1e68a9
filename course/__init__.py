"""From one CPU to a cluster: the public names, in reading order. This file is the map of the house.

Every line of the course answers three questions: *where* does it run, *what moves* to get it there, *who waits*.
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
    "course.replicas": ["split_matmul", "replicate", "Replicas"],
    "course.checks": ["check"],
}

#: Rooms that are read as `life.step`, `draw.animate`, `widgets.LifePlayer`; `serving` is the package modelserver.
MODULES = ["life", "serving", "traces", "draw", "widgets"]

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
