"""`measure` on a simulated GPU: the modelled clock is read, not a real one, so the figure is the same everywhere."""

from course.timing.timing import Timing

_SHORT = 100e-6  # seconds; below it, what the host does between two calls would show in a single one
_CALLS = 10


def measure_modelled(fn, args, place, watch=None):
    """Return the `Timing` of `fn(*args)` on `place`, a device of a simulation: modelled seconds, one repeat.

    The steady state is that of a call among many: one runs ahead, so that the device has something to do when the
    watch starts, as a real device in a loop has. A modelled clock has no spread, so a second repeat would tell nothing.
    """
    clock, index = place.simulation.clock, place.device.index
    clock.synchronize(index)
    start = clock.host
    fn(*args)
    clock.synchronize(index)
    first_call = clock.host - start
    if watch is not None:
        watch(0.0)
    calls = _CALLS if first_call < _SHORT else 1
    fn(*args)
    start = _done(clock, index)
    for _ in range(calls):
        fn(*args)
    seconds = (_done(clock, index) - start) / calls
    clock.synchronize(index)
    if watch is not None:
        watch(1.0)
    return Timing((seconds,), first_call, 0, place.name, kind=place.kind, origin=place.origin)


def _done(clock, index):
    """Return when all that was given to the device is done; an event would tell too, but costs the host a call."""
    return max(clock.host, clock.current_stream(index).ready)
