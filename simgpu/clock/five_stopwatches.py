"""Five stopwatches on one product of a simulated GPU: what each of them counts, and what it reads.

The seconds are the modelled clock's, so every size takes no time here, and reads the same on every machine.
"""

from dataclasses import dataclass

from simgpu.clock.modelled_clock import ModelledClock
from simgpu.models.catalogue import model_for
from simgpu.models.device_model import DeviceModel
from simgpu.models.op_seconds import BYTES, Work

#: Seconds the first call of a process waits for the driver and the library's kernels. Assumed: tenths of a second are
#: usual, and no data sheet states it.
SET_UP = 0.2
IN_A_ROW = 20  # products between two events


@dataclass(frozen=True)
class Reading:
    """What the stopwatch `name` says: `seconds` a product, counting `counts`; `right` when that is the product alone.

    `read` are the moments at which it was read, and `spans` what host and GPU did, both in modelled seconds.
    """

    name: str
    seconds: float
    right: bool
    counts: str
    read: tuple[float, float]
    spans: tuple


@dataclass(frozen=True)
class Stopwatches:
    """The `readings` of all stopwatches for a product of `size`.

    The work keeps the GPU busy for `work` seconds; a product among many takes `true`, the longer of that and the
    `launch` of the next one. `label` says what kind of seconds these are.
    """

    size: int
    work: float
    launch: float
    readings: tuple[Reading, ...]
    label: str

    @property
    def true(self) -> float:
        """Seconds of a product among many: the longer of launch and work."""
        return max(self.launch, self.work)

    def of(self, name: str) -> Reading:
        """Return the `Reading` of the stopwatch called `name`."""
        return next(reading for reading in self.readings if reading.name == name)


def stopwatches(size: int, model: "str | DeviceModel" = "H200", dtype: str = "float32") -> Stopwatches:
    """Return the `Stopwatches` for the product of two `size` × `size` matrices on a GPU of `model`.

    Raises ValueError for a size below 1 or a model that is not known.
    """
    if size < 1:
        raise ValueError(f"stopwatches(size={size}): give a size of 1 or more.")
    model = model_for(model)
    matrix = size * size * BYTES[dtype]
    product = Work(2 * size**3, 3 * matrix, dtype)
    readings = tuple(_reading(watch, ModelledClock(model), product, matrix) for watch in _WATCHES)
    label = f"{model.label}; set-up of {SET_UP:g} s assumed"
    return Stopwatches(size, model.seconds(product), model.launch, readings, label)


def _reading(watch, clock, product, matrix):
    start, stop, calls = watch(clock, product, matrix)
    name, right, counts = _WATCHES[watch]
    return Reading(name, (stop - start) / calls, right, counts, (start, stop), tuple(clock.spans))


def _at_once(clock, product, matrix):
    start = clock.host
    clock.run(0, product, "mm")
    stop = clock.host
    clock.synchronize()  # after the reading: the GPU is still at work
    return start, stop, 1


def _first_call(clock, product, matrix):
    start = clock.host
    clock.spend(SET_UP, "set-up")
    clock.run(0, product, "mm")
    clock.synchronize()
    return start, clock.host, 1


def _with_copies(clock, product, matrix):
    start = clock.host
    for _ in range(2):
        clock.copy(None, 0, matrix)
    clock.run(0, product, "mm")
    clock.copy(0, None, matrix)
    return start, clock.host, 1


def _synchronised(clock, product, matrix):
    clock.run(0, product, "mm")  # warm
    clock.synchronize()
    start = clock.host
    clock.run(0, product, "mm")
    clock.synchronize()
    return start, clock.host, 1


def _by_events(clock, product, matrix):
    clock.run(0, product, "mm")  # warm
    queue = clock.current_stream(0)
    start = clock.mark(queue)
    for _ in range(IN_A_ROW):
        clock.run(0, product, "mm")
    stop = clock.mark(queue)
    clock.synchronize()
    return start, stop, IN_A_ROW


#: stopwatch -> its name, whether it times the product, what it counts
_WATCHES = {
    _at_once: ("read at once", False, "the launch; the GPU has only accepted the work"),
    _first_call: ("first call", False, "the set-up of driver and library besides the product"),
    _with_copies: ("copies included", False, "two copies there and one back besides the product"),
    _synchronised: ("waited for", True, "the launch and the product, waited for"),
    _by_events: (f"{IN_A_ROW} between events", True, "products in a row, on the GPU's own clock"),
}
NAMES = tuple(name for name, _, _ in _WATCHES.values())
