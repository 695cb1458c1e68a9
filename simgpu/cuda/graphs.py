"""CUDA graphs of simulated GPUs: the `torch.cuda.CUDAGraph` on which torch's own `graph` and other functions work."""

import functools
import sys
import warnings
from collections.abc import Iterator
from itertools import count
from typing import Any

import torch

from simgpu.cuda.graph_capture import Tape, invalidated
from simgpu.messages import CAPTURING, EMPTY_GRAPH
from simgpu.state import opened, required

_MODES = ("global", "thread_local", "relaxed")
_pools = count(1)


class Graph:
    """What `torch.cuda.CUDAGraph` is while GPUs are simulated: captures the ops of a stream, and replays them.

    `keep_graph` is taken and changes nothing.
    """

    def __init__(self, keep_graph: bool = False):
        self._simulation = required()
        self._tape: Tape | None = None  # until it is captured
        self._capturing: Tape | None = None
        self._generators: list[torch.Generator] = []
        self._pool = (0, 0)

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        """Capture from now on what the current stream is given. `pool` is taken and changes nothing.

        Raises torch's RuntimeError on the default stream, or where this graph is captured already.
        """
        simulation = opened(self._simulation)
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        if self._tape is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        clock, index = simulation.clock, simulation.driver.current()
        stream = clock.current_stream(index)
        if stream is clock.default_stream(index):
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        if simulation.context.capture is not None:
            raise torch.AcceleratorError(CAPTURING)
        self._pool = tuple(pool) if pool is not None else (next(_pools), 0)
        self._capturing = Tape(simulation, stream, capture_error_mode)
        for generator in self._generators:
            self._capturing.remember_state(generator)
        simulation.context.capturing(self._capturing)

    def capture_end(self) -> None:
        """End the capture. Raises CUDA's error if one inside has ended it before, and nothing is captured then."""
        tape, self._capturing = self._capturing, None
        simulation = self._simulation
        if tape is None or simulation.context.capture is not tape:
            raise RuntimeError("capture_end() called before capture_begin().")
        if simulation.clock.current_stream(tape.index) is not tape.origin:
            self._capturing = tape
            raise RuntimeError("Capture must end on the same stream it began on.")
        simulation.context.capturing(None)
        tape.finish()
        raised = sys.exc_info()[0] is not None  # the error that ended it, or the program's own, is on its way
        if not tape.invalid:
            self._tape = tape
            if not tape.steps and not raised:
                warnings.warn(EMPTY_GRAPH, UserWarning, stacklevel=2)
        elif not raised:
            raise invalidated()

    def instantiate(self) -> None:
        """Do nothing: a captured graph is ready."""
        self._captured("Called CUDAGraph::instantiate")

    def replay(self) -> None:
        """Run what was captured, on the tensors that it was captured with: one launch."""
        opened(self._simulation)
        self._captured("Called CUDAGraph::replay").replay()

    def reset(self) -> None:
        """Drop what was captured, and its memory where no tensor of the program is on it."""
        self._tape = None

    def pool(self) -> Any:
        """Return the token of the graph's memory."""
        self._captured("Called CUDAGraph::pool()")
        return self._pool

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Let `generator` draw anew at each replay; a generator that a captured op is given does so by itself."""
        self._generators.append(generator)

    def enable_debug_mode(self) -> None:
        """Do nothing: there is no driver's graph to show."""

    def debug_dump(self, debug_path: str) -> None:
        """Raise RuntimeError: simulated GPUs have no driver's graph to print."""
        raise RuntimeError(f"CUDAGraph.debug_dump({debug_path!r}): simulated GPUs do not do this. It needs a real one.")

    def raw_cuda_graph(self) -> int:
        """Raise RuntimeError: there is no graph of a driver."""
        raise RuntimeError("CUDAGraph.raw_cuda_graph: simulated GPUs do not do this. It needs a real one.")

    raw_cuda_graph_exec = raw_cuda_graph

    def _captured(self, call):
        if self._tape is None:
            raise RuntimeError(f"{call} without a preceding successful capture.")
        return self._tape


def graphs() -> Iterator[tuple[Any, str, Any]]:
    """Yield (owner, name, value) for what is replaced of torch.cuda's graphs."""
    for owner in (torch.cuda, torch.cuda.graphs):
        yield owner, "CUDAGraph", Graph
    yield torch.cuda.graphs, "_graph_pool_handle", lambda: (0, next(_pools))
    yield torch.cuda.graphs, "_cuda_isCurrentStreamCapturing", is_capturing
    yield torch._C, "_cuda_isCurrentStreamCapturing", is_capturing
    yield torch.cuda.graph, "default_capture_stream", None  # torch keeps one; it would be a closed simulation's
    yield torch.cuda.graph, "__exit__", _leaving(torch.cuda.graph.__exit__)


def _leaving(original):
    @functools.wraps(original)
    def __exit__(self, *error):
        try:
            original(self, *error)
        except Exception:  # an error of CUDA's, or its warning of an empty graph that a program's filter raises
            self.stream_ctx.__exit__(*error)  # torch leaves the program on the stream of the failed capture
            raise

    return __exit__


def is_capturing() -> bool:
    """Return whether the current device's current stream is captured."""
    simulation = required()
    return simulation.context.is_capturing(simulation.clock.current_stream(simulation.driver.current()))
