"""Streams and events of simulated GPUs: torch.cuda's, on the modelled clock. Their seconds are modelled.

`cuda.patched` puts these in place of torch.cuda's while GPUs are simulated; `torch.cuda.stream(...)` is torch's own and
works on them. What CUDA refuses is refused in CUDA's words.
"""

from typing import Any

import torch

from simgpu.clock.stream_queue import Queue
from simgpu.messages import NOT_CAPTURED_EVENT
from simgpu.state import active, opened, required

_DEVICE_TYPE = 1  # CUDA's number among torch's device types


class Milliseconds(float):
    """Modelled milliseconds: a number in every calculation and format; printed bare, it says what it is."""

    def __new__(cls, value, label):
        milliseconds = super().__new__(cls, value)
        milliseconds.label = label
        return milliseconds

    def __repr__(self):
        return f"{float(self):.6g} ms, {self.label}"

    def __format__(self, spec):
        return format(float(self), spec) if spec else repr(self)


class Event:
    """A mark in a stream: it happens when all work that the stream was given before is done, on the modelled clock.

    Arguments as torch.cuda.Event has them; `blocking` makes no difference here. Raises RuntimeError for `interprocess`
    and `external`, which simulated GPUs do not do.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ):
        if interprocess or external:
            raise RuntimeError("torch.cuda.Event(interprocess, external): simulated GPUs live in one process alone.")
        self.enable_timing = enable_timing
        self.device: torch.device | None = None  # until it is first recorded
        self._clock = required().clock
        self._capture: Any = None  # that of a CUDA graph in which it was last recorded, and in which stream
        self._moment: Any = None  # modelled seconds, and how often the clock had been reset when it was recorded

    def record(self, stream: "Stream | None" = None) -> None:
        """Put the event behind the work that `stream`, by default the current one, has now."""
        stream = stream or current_stream(self.device)
        if self.device not in (None, stream.device):
            raise RuntimeError(
                f"Event device {self.device.index} does not match recording stream's device {stream.device.index}."
            )
        self.device = stream.device
        context = opened(required()).context
        self._capture = (context.capture, stream.queue) if context.is_capturing(stream.queue) else None
        self._moment = self._clock.mark(stream.queue), self._clock.resets

    def wait(self, stream: "Stream | None" = None) -> None:
        """Let what `stream`, by default the current one, is given from now on start after the event."""
        queue, capture = (stream or current_stream()).queue, required().context.capture
        if not self._recorded():
            return
        if self._capture is not None and self._capture[0] is not capture:
            raise torch.AcceleratorError(NOT_CAPTURED_EVENT)
        if capture is not None:
            capture.forked(queue, self._capture and self._capture[1])
        if self._capture is None:
            self._clock.hold(queue, self._moment[0])

    def query(self) -> bool:
        """Return whether the event has happened, or was never recorded."""
        return not self._happens() or self._clock.passed(self._moment[0])

    def synchronize(self) -> None:
        """Wait until the event has happened."""
        if self._happens():
            self._clock.wait(self._moment[0])

    def elapsed_time(self, end_event: "Event") -> Milliseconds:
        """Return the modelled milliseconds between this event and `end_event`, a `float` whose repr says so.

        Both must be made with enable_timing=True and recorded (else ValueError), and have happened (RuntimeError).
        """
        both = (self, end_event)
        if not all(event.enable_timing for event in both):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not all(event._recorded() for event in both):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if any(event._moment[0] > self._clock.host for event in both):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return Milliseconds((end_event._moment[0] - self._moment[0]) * 1e3, self._clock.model.label)

    def _happens(self):
        """Return whether it was recorded; raises CUDA's error where that was in a CUDA graph."""
        if self._capture is not None:
            raise torch.AcceleratorError(NOT_CAPTURED_EVENT)
        return self._recorded()

    def _recorded(self):
        return self._moment is not None and self._moment[1] == self._clock.resets

    def __repr__(self):
        when = f"at {self._moment[0] * 1e3:.6g} ms" if self._recorded() else "not recorded"
        return f"<simulated torch.cuda.Event {when}, {self._clock.model.label}>"


class Stream:
    """A queue of work of one simulated device: its work is done in order, beside that of other streams.

    `device`: a `torch.device`, an index or a name, by default the current one; `priority` is taken and changes nothing.
    `queue` is a stream that the clock has already. Equal to every other `Stream` of the same queue. A context manager
    too, as torch's streams are.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, queue: Queue | None = None):
        self._clock = required().clock
        self.priority = priority
        self.queue = queue or opened(required()).clock.new_stream(_index(device))
        self.device = torch.device("cuda", self.queue.device)
        self._before: list[Any] = []

    @property
    def device_index(self) -> int:
        """The index of its device."""
        return self.queue.device

    @property
    def device_type(self) -> int:
        """CUDA's number among torch's device types."""
        return _DEVICE_TYPE

    @property
    def stream_id(self) -> int:
        """The number of the stream; 0 is the one a device starts with."""
        simulation = active()  # torch asks at the end of a block, too, where it makes the stream before current again
        if simulation is None or simulation.clock is not self._clock:
            raise RuntimeError(f"{self!r}: its simulated GPUs are closed. Close them after the block of the stream.")
        return self.queue.number

    cuda_stream = stream_id

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the least and the greatest priority, as an H200 gives them."""
        return 0, -5

    def wait_event(self, event: Event) -> None:
        """Let what this stream is given from now on start after `event`."""
        event.wait(self)

    def wait_stream(self, stream: "Stream") -> None:
        """Let what this stream is given from now on start after what `stream` has now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, by default a new one, behind the work that this stream has now; return it."""
        event = event or Event()
        event.record(self)
        return event

    def query(self) -> bool:
        """Return whether all work of this stream is done."""
        return self._clock.passed(self.queue.ready)

    def is_capturing(self) -> bool:
        """Return whether its work is captured into a CUDA graph. Torch's optimisers ask at every step."""
        return required().context.is_capturing(self.queue)

    def synchronize(self) -> None:
        """Wait until all work of this stream is done."""
        self._clock.wait(self.queue.ready)

    def __enter__(self):
        context = torch.cuda.stream(self)
        context.__enter__()
        self._before.append(context)
        return self

    def __exit__(self, *error):
        self._before.pop().__exit__(*error)

    def __eq__(self, other):
        return isinstance(other, Stream) and self.queue is other.queue

    def __hash__(self):
        return hash(id(self.queue))

    def __repr__(self):
        return f"<simulated torch.cuda.Stream device={self.device} cuda_stream={self.queue.number:#x}>"


def current_stream(device: Any = None) -> Stream:
    """Return this thread's current `Stream` of `device`, by default of the current device."""
    return Stream(queue=required().clock.current_stream(_index(device)))


def default_stream(device: Any = None) -> Stream:
    """Return the `Stream` that `device`, by default the current one, starts with."""
    return Stream(queue=required().clock.default_stream(_index(device)))


def set_stream(stream: Stream | None) -> None:
    """Make `stream` the current one of its device, and that device the current one; None changes nothing."""
    if stream is None:
        return
    simulation = required()
    if stream._clock is not simulation.clock:
        raise RuntimeError(f"torch.cuda.set_stream({stream}): it belongs to a simulation that was closed.")
    torch.cuda.set_device(stream.device)
    simulation.clock.use_stream(stream.queue)


def _index(device):
    return required().driver.legal(torch.cuda._utils._get_device_index(device, optional=True))
