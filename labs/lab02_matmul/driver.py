"""A device that works on after the host has gone on, and a clock: whole microseconds, kept by adding.

What is done with it is written down: "now" (the clock was read), "work" (a call of the work), "wait" (the host waited
until the device had done everything). From such a list and the seconds of each call all readings follow, so a stopwatch
can be judged elsewhere by what it did. This file goes into the sandbox as text: it stands alone.
"""


class Device:
    """`calls`: microseconds that the device takes for each call of the work, the last again and again.

    The host hands a call over in `accept` microseconds and goes on; the first call of all costs it `set_up` more.
    """

    def __init__(self, calls, accept, set_up):
        self.calls, self.accept, self.set_up = list(calls), accept, set_up
        self.host = self.done = self.called = 0
        self.actions = []

    def now(self):
        """Read the clock."""
        self.actions.append("now")
        return self.host

    def work(self):
        """Hand a call of the work over."""
        self.actions.append("work")
        self.host += self.accept + (self.set_up if self.called == 0 else 0)
        self.done = max(self.host, self.done) + self.calls[min(self.called, len(self.calls) - 1)]
        self.called += 1

    def wait(self):
        """Wait until all that was handed over is done."""
        self.actions.append("wait")
        self.host = max(self.host, self.done)


def drive(entry, calls, accept, set_up, repeats):
    """Return what `entry` measured on such a device, and what it did to measure it."""
    device = Device(calls, accept, set_up)
    return entry(device.work, device.now, device.wait, repeats), device.actions
