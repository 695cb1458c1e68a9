"""Files that are being written: named after their writer, so that those of a killed writer can be found."""

import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import psutil

_HOST = re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())
_NAME = re.compile(r"\.checkpoint-(.+)-(\d+)-[0-9a-f]{8}\.tmp")


@contextmanager
def temporary(folder: str | os.PathLike) -> Iterator[BinaryIO]:
    """A new binary file in `folder`, open for writing; it is closed and, unless renamed by then, removed at the end."""
    path = os.path.join(folder, f".checkpoint-{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with open(path, "xb") as file:
            yield file
    finally:
        if os.path.exists(path):
            os.unlink(path)


def remove_stale(folder: str | os.PathLike) -> None:
    """Remove the temporary files of writers on this machine that no longer run."""
    for name in os.listdir(folder):
        match = _NAME.fullmatch(name)
        if match and match[1] == _HOST and not psutil.pid_exists(int(match[2])):
            with suppress(OSError):  # gone already, or another user's: the new file decides whether there is room
                os.unlink(os.path.join(folder, name))
