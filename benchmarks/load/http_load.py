"""A load generator: requests as bytes, over connections that stay open; a closed loop, or open with Poisson arrivals.

In a closed loop each of `callers` asks again when it was answered: the load falls when the server is slow, and hides
its queue. In an open loop requests come when they come, and latency counts from the time at which each was to be sent.
"""

import asyncio
import random
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """What was seen: `seconds`, `latencies` in seconds, how late the generator itself sent (its 99th percentile), and
    how many requests of an open loop were `refused`.
    """

    seconds: float
    latencies: list[float]
    late: float = 0.0
    refused: int = 0


class Refused(RuntimeError):
    """A request got another status than 200."""


def request(path: str, body: bytes, **headers: object) -> bytes:
    """Return a POST as it goes over the wire."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def closed(port: int, sent: bytes, count: int, callers: int) -> Load:
    """Send `sent` `count` times, from so many callers at once."""

    async def main():
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(callers)]
        latencies: list[float] = []

        async def one(reader, writer):
            for _ in range(count // callers):
                began = time.perf_counter()
                await _ask(reader, writer, sent)
                latencies.append(time.perf_counter() - began)

        began = time.perf_counter()
        await asyncio.gather(*(one(*pair) for pair in connections))
        seconds = time.perf_counter() - began
        for _, writer in connections:
            writer.close()
        return Load(seconds, latencies)

    return asyncio.run(main())


def opened(port: int, sent: bytes, rate: float, seconds: float, seed: int = 0) -> Load:
    """Send `sent` at random times, `rate` a second on average, for so many seconds."""

    async def main():
        free = [await asyncio.open_connection("127.0.0.1", port) for _ in range(64)]
        latencies, late, tasks, refused = [], [], set(), []
        generator = random.Random(seed)

        async def one(at):
            pair = free.pop() if free else await asyncio.open_connection("127.0.0.1", port)
            try:
                await _ask(*pair, sent)
            except Refused as error:  # after a pause of the generator's own a thousand come at once
                refused.append(error)
            else:
                latencies.append(time.perf_counter() - at)
            free.append(pair)

        began = at = time.perf_counter()
        while at - began < seconds:
            at += generator.expovariate(rate)
            while (wait := at - time.perf_counter()) > 0:
                await asyncio.sleep(max(0.0, wait - 0.0005))  # a timer is late by so much; the rest is a turn or two
            late.append(time.perf_counter() - at)
            task = asyncio.ensure_future(one(at))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        for _, writer in free:
            writer.close()
        return Load(time.perf_counter() - began, latencies, percentile(late, 99), len(refused))

    return asyncio.run(main())


def percentile(values: list[float], percent: float) -> float:
    """Return the value that `percent` of `values` are not above."""
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]


async def _ask(reader, writer, sent):
    writer.write(sent)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    at = head.index(b"content-length: ") + 16
    await reader.readexactly(int(head[at : head.index(b"\r", at)]))
    if not head.startswith(b"http/1.1 200"):
        raise Refused(f"answered {head[:60]!r}")
