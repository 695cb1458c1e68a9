"""The course's long task: six million gradients, for which one worker needs nine hours, and what other ways need.

A gradient is that of the larger network of `recorded.json`: 784 inputs, 1,000 sigmoids, 10 outputs, batches of 100
images. Nobody has waited for any of it: every figure is simulated with recorded costs, or modelled from a data sheet.
"""

from dataclasses import dataclass

import torch
from torch.nn import functional

from course.devices import simulated_gpus
from course.scale.continents import continents
from course.scale.prices import cost
from course.scale.recorded import recorded

HOURS = 9.0
NBYTES = 3_180_040  # of one gradient: 795,010 numbers of 4 bytes
BATCH = 100
_CORE, _GPU = "m6i.large", "g4dn.xlarge"  # a core (two threads), and the cheapest usual machine with a GPU, a T4


@dataclass(frozen=True)
class Way:
    """A way to all gradients: the `chapter` that has it, its `hours`, and what `machines` of one kind cost.

    `egress_gb` are sent from one region to another meanwhile. The seconds in which machines start are not counted.
    `label` says what kind of figures these are, and whose. `an_update` is how many gradients an update is the mean of.
    """

    what: str
    chapter: str
    hours: float
    machine: str
    machines: int
    label: str
    egress_gb: float = 0.0
    an_update: int = 1

    @property
    def updates(self) -> float:
        """How often the parameters change: a training with fewer updates of the same gradients is another one."""
        return gradients() / self.an_update

    @property
    def dollars(self) -> float:
        """US dollars at list prices, for the machines and the bytes that leave a region."""
        return cost(self.machine, self.machines, self.hours, disk_gb=0, egress_gb=self.egress_gb).total


def gradients() -> float:
    """Return how many gradients one worker and its server make in `HOURS`, each with a core to itself."""
    return 3600 * HOURS / _seconds("asynchronous", 1)


def gpu_seconds(parameters_on: str = "cuda:0", model: str = "T4") -> float:
    """Return the seconds of a gradient and its update on a GPU: modelled, by a simulated one's clock.

    The batch comes from the CPU each time. `parameters_on`: "cuda:0", or "cpu": then they travel there, and their
    gradients back, at every step. `model`: "T4" or "H200".
    """
    with simulated_gpus(1, model=model) as gpus:
        shapes = (1000, 784), (1000,), (10, 1000), (10,)
        parameters = [torch.zeros(shape, device=parameters_on, requires_grad=True) for shape in shapes]
        images, labels = torch.zeros(BATCH, 784), torch.zeros(BATCH, dtype=torch.long)
        with gpus.clock.timed() as took:
            _step(parameters, images, labels)
        return took.seconds


def ways() -> tuple[Way, ...]:
    """Return the ways of the chapters, in their order: the first is the nine hours themselves."""
    return (
        _simulated("one worker and its server", "00", "asynchronous", 1),
        _modelled("a GPU, the parameters left on the CPU", "01", "cpu"),
        _modelled("a GPU that has them", "02", "cuda:0"),
        _simulated("three workers, nobody waits", "06", "asynchronous", 3),
        _simulated("three workers that wait for each other", "06", "synchronous", 3),
        _simulated("1,000 workers, one server", "07", "asynchronous", 1000),
        _simulated("1,000 workers, a tree", "07", "tree", 1000),
        _far_apart("three that wait, on three continents", "09", ["Virginia", "Frankfurt", "Tokyo"]),
    )


def _step(parameters, images, labels):
    """Make one gradient on the GPU, and the update where the parameters are."""
    hidden, hidden_bias, output, output_bias = (tensor.to("cuda:0") for tensor in parameters)
    activations = functional.linear(images.to("cuda:0"), hidden, hidden_bias).sigmoid()
    functional.cross_entropy(functional.linear(activations, output, output_bias), labels.to("cuda:0")).backward()
    with torch.no_grad():
        for parameter in parameters:
            parameter -= 0.5 * parameter.grad


def _modelled(name, chapter, parameters_on):
    hours = gradients() * gpu_seconds(parameters_on) / 3600
    return Way(name, chapter, hours, _GPU, 1, "modelled: NVIDIA T4 data sheet")


def _simulated(name, chapter, design, workers):
    hours = gradients() * _seconds(design, workers) / 3600
    machines = workers if design == "tree" else workers + 1  # one more is the server
    an_update = 1 if design == "asynchronous" else workers
    return Way(name, chapter, hours, _CORE, machines, _simulation(), an_update=an_update)


def _far_apart(name, chapter, places):
    """Return the way of three workers with a server beside the first; their lines are long, and as wide as needed."""
    alone = recorded().compute["served"][NBYTES]
    rate = continents("synchronous", places, places[0], round(1e6 * sum(alone) / len(alone))).rate
    away = sum(place != places[0] for place in places) / len(places)
    gigabytes = 2 * away * gradients() * NBYTES / 1e9  # a gradient there, parameters back
    hours = gradients() / rate / 3600
    return Way(name, chapter, hours, _CORE, len(places) + 1, _simulation(), gigabytes, len(places))


def _simulation():
    return f"simulated; costs {recorded().label}"


def _seconds(design, workers):
    return recorded().seconds(design, workers, NBYTES, rounds=100 if workers < 10 else 1)
