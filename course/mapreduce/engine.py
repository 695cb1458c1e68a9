"""Map and reduce: one function for every part, anywhere; the results joined in an order that never changes."""

import reprlib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Executor, wait
from functools import reduce
from typing import Any, TypeVar

from course.progress_line import LateLine
from course.signals import held_back

#: Seconds that `map_reduce` waits for a part to end after another one, by default.
PART_ENDS = 600.0
#: Between two looks of `map_reduce` at how many parts have ended.
PARTS_LOOKED_AT = 0.25

Result = TypeVar("Result")


class PartError(RuntimeError):
    """The mapper or reducer of a part failed: `part` is its index, `__cause__` the error that was raised."""

    part: int | None = None


def map_reduce(
    mapper: Callable[[Any], Result],
    reducer: Callable[[Result, Result], Result],
    parts: Iterable[Any],
    executor: Executor | None = None,
    associative: bool = False,
    timeout: float = PART_ENDS,
) -> Result:
    """Return `mapper` of every part, joined two at a time by `reducer(left, right)`.

    `parts` is an iterable of anything that `mapper` takes. With an `executor` (any `concurrent.futures.Executor`:
    threads, processes, a cluster's `.executor`) the mapper runs there, all parts at once; joining is done here, always
    in part order, so that the order of arrival can't change the answer, not even a float's last digit. The results are
    joined from left to right; with `associative=True` by a tree whose shape depends on the number of parts alone:
    neighbours first, then pairs of neighbours, which rounds floats less. One part gives `mapper(part)` itself.

    Raises ValueError for no parts (there is nothing to return), PartError that names the part when mapper or reducer
    fails, TimeoutError when no part ends within `timeout` seconds of another; the parts not begun are then cancelled.
    A mapper that ran on a process that died may run again: it should give the same answer each time.

    >>> map_reduce(len, lambda a, b: a + b, ["two", "words"])
    8
    """
    _check(mapper, reducer, executor)
    parts = list(parts)
    if not parts:
        raise ValueError(
            "map_reduce(parts=[]): there is nothing to reduce. Give one part or more; a part may be empty."
        )
    results = _map_here(mapper, parts) if executor is None else _map_on(executor, mapper, parts, timeout)
    return _joined(_naming_parts(reducer), results, associative)


def _check(mapper, reducer, executor):
    for name, function in (("mapper", mapper), ("reducer", reducer)):
        if not callable(function):
            raise TypeError(
                f"map_reduce({name}={function!r}): give a function; mapper takes a part, reducer two results."
            )
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(
            f"map_reduce(executor={executor!r}): give None, or a concurrent.futures.Executor; "
            "of a cluster that is cluster.executor."
        )


def _joined(join, results, associative):
    pieces = [(index, index, result) for index, result in enumerate(results)]  # first part, last part, result
    if not associative:
        return reduce(join, pieces)[2]
    while len(pieces) > 1:
        left_over = pieces[-1:] if len(pieces) % 2 else []
        pieces = [join(*pair) for pair in zip(pieces[::2], pieces[1::2], strict=False)] + left_over
    ((_, _, result),) = pieces
    return result


def _naming_parts(reducer):
    def join(left, right):
        try:
            return left[0], right[1], reducer(left[2], right[2])
        except Exception as error:  # the reader's reducer raises whatever it likes; the error gets the part's number
            where = f"joining part {left[0]} to {left[1]} with part {right[0]} to {right[1]}"
            raise _part_error(right[0], f"reducer {_name(reducer)} failed {where}", error) from error

    return join


def _map_here(mapper, parts):
    with LateLine("parts") as line:
        for index, part in enumerate(parts):
            line.look(index, len(parts))
            try:
                result = mapper(part)
            except Exception as error:  # so does the reader's mapper
                raise _part_error(index, _failed(mapper, parts, index), error) from error
            yield result


def _map_on(executor, mapper, parts, timeout):
    """Return the results, in order. An interrupt is raised when no future is touched, a fraction of a second later.

    One that struck as this thread had just taken a future's lock would leave it locked; the thread that settles the
    future, a cluster's event loop, would wait for that lock for ever.
    """
    futures = []
    with held_back() as interrupts:
        try:
            _submit(executor, mapper, parts, futures, interrupts)
            _wait(futures, mapper, parts, timeout, interrupts)
        finally:
            for future in futures:  # does nothing to those that are done; matters on an error and on an interrupt
                future.cancel()
    return [future.result() for future in futures]


def _submit(executor, mapper, parts, futures, interrupts):
    """Submit the parts one by one, and add the future of each to `futures` at once: on an error they are cancelled."""
    for part in parts:
        if interrupts:
            return
        try:
            futures.append(executor.submit(mapper, part))
        except RuntimeError as error:
            raise RuntimeError(
                f"map_reduce(executor={type(executor).__name__}): it took {len(futures)} of {len(parts)} parts, then "
                f"said: {error}. If it is closed, open a new one; executor=None runs the parts here."
            ) from error


def _wait(futures, mapper, parts, timeout, interrupts):
    pending, heard = futures, time.monotonic()
    with LateLine("parts") as line:
        while pending and not interrupts:
            done, waiting = wait(pending, min(timeout, PARTS_LOOKED_AT), return_when=FIRST_EXCEPTION)
            for index, future in enumerate(futures):
                error = _error_of(future)
                if error is not None:
                    raise _part_error(index, _failed(mapper, parts, index), error) from error
            line.look(len(futures) - len(waiting), len(futures))
            moment = time.monotonic()
            if done:
                heard = moment
            elif moment - heard >= timeout:
                raise TimeoutError(_late(futures, timeout))
            pending = waiting


def _late(futures, timeout):
    late = [index for index, future in enumerate(futures) if not future.done()]
    return (
        f"map_reduce(timeout={timeout}): no part ended for {timeout} s; still waiting for {len(late)} of "
        f"{len(futures)}, the first is part {late[0]}. Look at that task, or allow more seconds."
    )


def _error_of(future):
    try:
        return future.exception() if future.done() else None
    except CancelledError as error:
        return error


def _failed(mapper, parts, index):
    return f"mapper {_name(mapper)} failed on part {index} of {len(parts)} ({reprlib.repr(parts[index])})"


def _part_error(index, problem, cause):
    error = PartError(f"map_reduce: {problem}: {type(cause).__name__}: {cause}")
    error.part = index
    return error


def _name(function):
    return getattr(function, "__name__", type(function).__name__)
