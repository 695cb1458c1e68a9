"""The costs of the simulation, fitted to small trainings of this machine."""

from dataclasses import asdict
from datetime import date
from os import cpu_count
from platform import python_version

import numpy as np
import torch

from benchmarks.scaling.small_trainings import computing, reduced, served
from course.devices import list_devices
from course.scale import Costs
from course.scale.recorded import from_document

#: Hidden units of the digits' network; the costs are fitted to the outer two, and predict the middle one.
SIZES = (20, 100, 1000)
#: Workers on one server, and processes that compute at once.
WORKERS = (1, 2, 3, 4, 8)
_FITTED_WORKERS = (1, 2, 4)
_LEAST, _MOST = (3e-6, 1e-11, 1e-6, 1e-6), (3e-4, 3e-9, 3e-4, 3e-4)  # of the four costs, in seconds
_STARTS = [(4e-5, 4e-10, wake, switch) for wake in (1e-5, 8e-5) for switch in (5e-6, 5e-5)]


def predicted(document):
    """Yield (run, simulated seconds) for each recorded run of `document` to which no cost was fitted."""
    machine = from_document(document)
    for run in machine.runs:
        if not run.fitted:
            yield run, machine.seconds(**case(run), cores=machine.cores, rounds=40)


def case(run):
    """Return the arguments of `Recorded.seconds` for a real run."""
    return {"design": run.design, "workers": run.workers, "nbytes": run.nbytes, "shards": max(1, run.shards)}


def recording(repeats):
    """Measure on this machine, fit, and return what `recorded.json` holds (a dict for JSON)."""
    computed = computing(SIZES, WORKERS)
    runs = [*served(1, SIZES, WORKERS, repeats), *served(2, SIZES, (2, 4, 8), repeats)]
    runs += reduced(SIZES, (1, 2, 4, 8), repeats)
    return with_costs(computed, [asdict(run) for run in runs])


def with_costs(computed, runs):
    """Return `recorded.json` for these runs (dicts of `Measured`); `computed`: what `computing` returns."""
    levels = {size: _levels(by_processes[1]) for size, by_processes in computed.items()}
    outer = min(levels), max(levels)
    document = {
        "hardware": list_devices()[0].description,
        "date": date.today().isoformat(),
        "software": {"python": python_version(), "torch": torch.__version__},
        "cores": cpu_count(),
        "compute": {"served": levels, "reduced": {size: _scaled(levels[size], _alone(runs, size)) for size in levels}},
        "crowded": {size: _crowded(by_processes) for size, by_processes in computed.items()},
        "costs": {family: asdict(Costs(*_STARTS[0])) for family in ("served", "reduced")},
        "runs": [{**run, "fitted": run["workers"] in _FITTED_WORKERS and run["nbytes"] in outer} for run in runs],
    }
    document["costs"] = {family: asdict(fitted(document, family)) for family in ("served", "reduced")}
    return document


def _alone(runs, size):
    """Return the seconds of a gradient of one rank, which sends nothing."""
    return [run["seconds"] for run in runs if (run["workers"], run["shards"], run["nbytes"]) == (1, 0, size)]


def fitted(document, family):
    """Return the `Costs` with which the simulation is nearest to the fitted runs of `document`, by their ratios."""
    from scipy.optimize import least_squares

    runs = [run for run in from_document(document).runs if run.fitted and (run.shards == 0) == (family == "reduced")]

    def misses(logs):
        document["costs"][family] = dict(zip(("message", "byte", "wake", "switch"), np.exp(logs).tolist(), strict=True))
        now = from_document(document)
        rounds = 20 if family == "reduced" else 40
        seconds = [now.seconds(**case(run), cores=document["cores"], rounds=rounds) for run in runs]
        return [np.log(predicted / run.seconds) for predicted, run in zip(seconds, runs, strict=True)]

    bounds = np.log(_LEAST), np.log(_MOST)
    # a run that the machine disturbed is not to bend the rest: the soft loss
    how = {"bounds": bounds, "diff_step": 0.02, "loss": "soft_l1", "f_scale": 0.1, "max_nfev": 25}
    best = min((least_squares(misses, np.log(start), **how) for start in _STARTS), key=lambda found: found.cost)
    return Costs(*(float(f"{cost:.4g}") for cost in np.exp(best.x)))


def _levels(seconds):
    return [float(f"{level:.4g}") for level in np.quantile(seconds, np.linspace(0.025, 0.975, 20))]


def _crowded(by_processes):
    """Return, by number of processes, how many times as long as alone a gradient takes."""
    alone = np.median(by_processes[1])
    return {count: float(f"{max(1.0, np.median(seconds) / alone):.3g}") for count, seconds in by_processes.items()}


def _scaled(levels, measured):
    """Return the levels of computing, stretched to what one rank alone takes: its own step of descent is in it."""
    factor = np.mean(measured) / np.mean(levels)
    return [float(f"{factor * level:.4g}") for level in levels]
