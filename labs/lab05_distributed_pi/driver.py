"""Servers for lab 05's parallel pi whose counts are made up from the range: no darts, so no answer to exercise 1.

The same text drives an answer in the notebook and in the sandbox of a submission: the standard library only.
"""

import zlib


def made_up(server, first, last):
    """A count that can't be known without asking: no more than there are darts, another for every range."""
    return zlib.crc32(f"{server} {first} {last}".encode()) % (abs(last - first) + 1)


def drive_servers(entry, darts, servers):
    """Return what `entry` returned, its calls of `submit`, and how many there were when it first asked for a result."""
    calls, waited = [], []

    class Future:
        def __init__(self, count):
            self.count = count

        def result(self, timeout=None):
            waited.append(len(calls))
            return self.count

    def submit(server, first, last):
        server, first, last = whole(server), whole(first), whole(last)
        calls.append((server, first, last))
        return Future(made_up(server, first, last))

    inside, estimate = entry(darts, servers, submit)
    return (inside, estimate), calls, waited[0] if waited else None


def whole(number):
    """Return `number` as an int; raises ValueError for one that is not whole."""
    if int(number) != number:
        raise ValueError(f"{number!r} is not a whole number")
    return int(number)
