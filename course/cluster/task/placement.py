"""On a task: run a function with its PyTorch operations placed on the device that its pin names."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class PlacingThreadPoolExecutor(Executor):
    """Hands functions to `pool`, each inside `course.devices.place(device)`: modes are per thread, so it enters there.

    (Dask keeps a function's context, `get_worker` among it, only for executors with "ThreadPoolExecutor" in the name.)
    """

    def __init__(self, pool: Executor, device: str):
        self._pool, self._device = pool, device

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Future:
        """Return a future of `fn(*args, **kwargs)`, which runs in the pool with its operations placed."""
        return self._pool.submit(_run_placed, self._device, fn, args, kwargs)

    def shutdown(self, wait: bool = True, **settings: Any) -> None:
        """Do nothing: the pool is the worker's, which closes it."""


def _run_placed(device, fn, args, kwargs):
    from course.devices import place

    with place(device):
        return fn(*args, **kwargs)


class Executors(dict[str, Executor]):
    """A Dask worker's executors by name, where every device's name is one more, made when first asked for."""

    def __missing__(self, name):
        if not name.startswith("/"):
            raise KeyError(name)
        self[name] = PlacingThreadPoolExecutor(self["default"], name)
        return self[name]
