"""Ports for what a test starts itself, which may listen only a while after they were chosen."""

import random
import socket
from contextlib import ExitStack, suppress


def free_ports(count):
    """Return `count` ports of 127.0.0.1 on which nobody listens now, nor on those 1000 above them, the lowest first.

    The system gives none of them to a connection that begins meanwhile: those have higher numbers.
    """
    found = []
    with ExitStack() as held:
        while len(found) < count:
            port = random.SystemRandom().randrange(10_000, 31_000)
            with suppress(OSError):
                for one in (port, port + 1000):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", one))
                found.append(port)
    return sorted(found)
