"""On a task: run a function with its PyTorch operations placed on the device that its pin names."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from typing import Any


class PlacingThreadPoolExecutor(Executor):
    """Hands functions to `pool`, each inside `course.devices.place(device)`: modes are per thread, so it enters there.

    Where the task has simulated GPUs, `gpus`, each function enters them too; `device` may then be None, for no place.
    (Dask keeps a function's context, `get_worker` among it, only for executors with "ThreadPoolExecutor" in the name.)
    """

    def __init__(self, pool: Executor, device: str | None, gpus: Any = None):
        self._pool, self._device, self._gpus = pool, device, gpus

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Future:
        """Return a future of `fn(*args, **kwargs)`, which runs in the pool with its operations placed."""
        return self._pool.submit(_run_placed, self._device, self._gpus, fn, args, kwargs)

    def shutdown(self, wait: bool = True, **settings: Any) -> None:
        """Do nothing: the pool is the worker's, which closes it."""


def _run_placed(device, gpus, fn, args, kwargs):
    with ExitStack() as inside:
        if gpus is not None:
            inside.enter_context(gpus.entered())
        if device is not None:
            from course.devices import place

            inside.enter_context(place(device))
        return fn(*args, **kwargs)


class Executors(dict[str, Executor]):
    """A Dask worker's executors by name, where every device's name is one more, made when first asked for.

    Where `gpus` are simulated, work that names no device enters them too; `threads` is then the pool itself.
    """

    def __init__(self, executors: Mapping[str, Executor], gpus: Any = None):
        super().__init__(executors)
        self._gpus = gpus
        self["threads"] = self["default"]
        if gpus is not None:
            self["default"] = PlacingThreadPoolExecutor(self["threads"], None, gpus)

    def __missing__(self, name):
        if not name.startswith("/"):
            raise KeyError(name)
        self[name] = PlacingThreadPoolExecutor(self["threads"], name, self._gpus)
        return self[name]
