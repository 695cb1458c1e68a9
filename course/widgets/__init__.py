"""The widgets: controls above a picture. They never compute: they call engines, and show results with `draw`."""

from importlib import import_module

from course.signals import held_back

_HOME = {
    "CourseMap": "course_map",
    "MatmulSlider": "matmul_slider",
    "PlacementExplorer": "placement_explorer",
    "RooflineExplorer": "roofline_explorer",
    "StopwatchComparison": "stopwatch_comparison",
    "LifePlayer": "life.player",
    "animate": "life.player",
    "SliceMean": "slice_mean",
    "PiDarts": "pi_darts",
    "Dashboard": "dashboard",
    "RegressionLab": "regression_lab",
    "FailureLab": "failure_lab",
    "ClusterTimeline": "exhibits.cluster_timeline",
    "Continents": "exhibits.continents",
    "ParameterStore": "exhibits.parameter_store",
    "RequestDots": "exhibits.request_dots",
    "RingAllReduce": "exhibits.ring_all_reduce",
    "DigitPad": "exhibits.digit_pad",
    "Predict": "bets.predict",
    "Scorecard": "bets.scorecard",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name in _HOME:
        with held_back():
            return getattr(import_module(f"course.widgets.{_HOME[name]}"), name)
    raise AttributeError(f"course.widgets has no {name!r}; its widgets are {', '.join(__all__)}")


def __dir__():
    return sorted({*globals(), *__all__})
