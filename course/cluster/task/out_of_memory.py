"""A task's process that has no memory left ends, and is replaced: whatever it would do next may fail half-way."""

import os
import threading

_LEAST = 1 << 20  # bytes: who can't have these can do nothing
_WORDS = b"this process ends: it has no memory left, not even 1 MiB. A task that has more takes its place.\n"
_replaced: list[bool] = []  # not empty where somebody replaces this process


def end_without_memory(error: BaseException) -> None:
    """End this process where `error` is of too little memory and none is left; nothing where nobody would replace it.

    A function that asks for too much at once has its error as any other: there is memory for all else.
    """
    if not _replaced or not (isinstance(error, MemoryError) or "can't allocate memory" in str(error)):
        return
    try:
        bytearray(_LEAST)
    except MemoryError:
        os.write(2, _WORDS)
        os._exit(1)


def is_replaced() -> None:
    """Note that this process is a task's which is replaced when it ends; its threads end it where they lack memory."""
    _replaced.append(True)
    before = threading.excepthook

    def hook(arguments, /):
        end_without_memory(arguments.exc_value or arguments.exc_type())
        before(arguments)

    threading.excepthook = hook
