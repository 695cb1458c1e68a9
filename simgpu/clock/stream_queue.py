"""Streams as the clock knows them: queues of work on a device, and which of them a thread has made its current one."""

import threading
from typing import NamedTuple


class Booked(NamedTuple):
    """Work or a copy as a log sees it: the modelled `seconds` that it takes alone, the host's `launch` among them."""

    seconds: float
    launch: float


class OfThread(threading.local):
    """What a thread has of a clock: its current stream of each device where that isn't the default, what it booked."""

    streams: dict[int, "Queue"] = {}  # replaced, never changed
    last: Booked | None = None


class Queue:
    """A stream as the clock knows it: `device` index, `number` (0: the default stream), and when it will be idle."""

    def __init__(self, device: int, number: int):
        self.device = device
        self.number = number
        self.ready = 0.0  # modelled seconds
