"""A slow line of our own between real sockets: bytes come later, no faster than it allows, in order; it can be cut."""

import asyncio
import socket
import struct
import sys
from contextlib import suppress

from course.cluster.local_runtime.loop import LoopThread
from course.deadlines import HOST_ANSWER

Address = tuple[str, int]

#: Linux has all of 127.0.0.0/8. Both ends of a connection through a link then have different addresses, as between two
#: machines: nobody takes them for one host, whose processes may share memory.
_HERE = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"
_PIECE = 1 << 14  # bytes that are taken from a connection at a time
_PIECES = 1 << 10  # of one connection on their way, at most: 16 MiB; who sends more waits, as for TCP's window
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: a closed connection is reset


class Link:
    """A line from this machine to others: `to(address)` gives the address at which `address` is found at its other end.

    - `delay`: seconds, one way, that every byte comes later; a timer's millisecond may be added to them. `bandwidth`:
      bytes a second each way, shared by all that goes through; None: as fast as it goes. Both may be changed meanwhile.

    It relays TCP on loopback, byte by byte in order: an end of sending and a reset go through too. Who
    connects is told so at once: only what follows is late. A thread of its own does it all; use it in a `with`, or
    `close` it. Raises ValueError for a delay below 0 or a bandwidth that is not above 0.
    """

    def __init__(self, delay: float = 0.0, bandwidth: float | None = None):
        if not delay >= 0:
            raise ValueError(f"Link(delay={delay}): give seconds, one way, from 0 up: 0.025 are 25 ms.")
        if bandwidth is not None and not bandwidth > 0:
            raise ValueError(f"Link(bandwidth={bandwidth}): give bytes a second, above 0, or None for no limit.")
        self.delay, self.bandwidth = delay, bandwidth
        self._ways: dict[Address, Address] = {}
        self._lanes = _Lane(), _Lane()
        self._whole = asyncio.Event()
        self._whole.set()
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task] = set()
        self._loop: LoopThread | None = LoopThread()

    def to(self, address: Address) -> Address:
        """Return the (host, port) of this machine that leads to `address`; for the same address the same one.

        Nobody needs to listen at `address` yet: who connects when nobody does is reset. RuntimeError when closed.
        """
        (host, port), thread = address, self._thread()
        if (host, port) not in self._ways:
            self._ways[host, port] = thread.run(self._listen, (host, port))
        return self._ways[host, port]

    def cut(self) -> None:
        """From now on nothing comes through, either way, and nobody is told; nothing is lost: it waits for `join`."""
        self._thread().run(self._set, False)

    def join(self) -> None:
        """Let everything through again; what waited comes in its order, a `delay` later."""
        self._thread().run(self._set, True)

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes that were given to the line so far: (towards the addresses, back)."""
        outward, back = self._lanes
        return outward.moved, back.moved

    def close(self) -> None:
        """Reset what is open and free all ports; idempotent."""
        if self._loop is not None:
            loop, self._loop = self._loop, None
            try:
                loop.run(self._end)
            finally:
                loop.stop()

    def __enter__(self) -> "Link":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        speed = "no limit" if self.bandwidth is None else f"{self.bandwidth:,.0f} bytes/s"
        state = ", closed" if self._loop is None else "" if self._whole.is_set() else ", cut"
        return f"Link({1e3 * self.delay:g} ms one way, {speed}{state})"

    def _thread(self):
        if self._loop is None:
            raise RuntimeError("this link is closed; make another Link.")
        return self._loop

    async def _set(self, whole):
        if whole:
            self._whole.set()
        else:
            self._whole.clear()

    async def _listen(self, address):
        def connected(reader, writer):
            task = asyncio.ensure_future(self._relay((reader, writer), address))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        server = await asyncio.start_server(connected, _HERE, 0)
        self._servers.append(server)
        return server.sockets[0].getsockname()[:2]

    async def _relay(self, near, address):
        """Carry a connection's bytes both ways until both ends have said their last, or one resets it."""
        ends = [near]
        try:
            await self._until(_loop_seconds() + self.delay)
            ends.append(await asyncio.wait_for(asyncio.open_connection(*address), HOST_ANSWER))
            outward, back = self._lanes
            await _all(*self._way(near, ends[1], outward), *self._way(ends[1], near, back))
            await _closed(ends)
        except (OSError, asyncio.CancelledError):  # reset, refused or silent; or the link is closed
            for _, writer in ends:
                with suppress(OSError):  # the one that was reset is closed by now
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        finally:
            for _, writer in ends:
                writer.transport.abort()
            await _closed(ends)

    def _way(self, source, target, lane):
        """Return what takes from `source` and what gives to `target`, after the delay."""
        on_the_way: asyncio.Queue[tuple[float, bytes | None]] = asyncio.Queue(_PIECES)
        return [self._take(source[0], on_the_way, lane), self._give(target[1], on_the_way)]

    async def _take(self, reader, on_the_way, lane):
        piece: bytes | None = b"."
        while piece:
            try:
                piece = await reader.read(_PIECE)
            except OSError:
                piece = None  # a reset, which takes its time as all does
            await on_the_way.put((lane.through(len(piece or b""), self.bandwidth) + self.delay, piece))

    async def _give(self, writer, on_the_way):
        while True:
            due, piece = await on_the_way.get()
            await self._until(due)
            if piece is None:
                raise ConnectionResetError("the other end reset the connection")
            if not piece:
                writer.write_eof()
                return
            try:
                writer.write(piece)
                await writer.drain()
            except OSError:
                await self._until(_loop_seconds() + self.delay)  # the sender hears of it as late as of anything
                raise

    async def _until(self, due):
        """Wait until the moment `due`; in a cut until it is joined, and a delay more."""
        while not self._whole.is_set() or due > _loop_seconds():
            if self._whole.is_set():
                await asyncio.sleep(due - _loop_seconds())
            else:
                await self._whole.wait()
                due = max(due, _loop_seconds() + self.delay)

    async def _end(self):
        for server in self._servers:
            server.close()
        # the loop cancels the connections when it stops; each is reset then


class _Lane:
    """One direction of a link: everything goes through one after the other."""

    def __init__(self):
        self.moved, self._free = 0, 0.0

    def through(self, count, bandwidth):
        """Return the moment at which `count` more bytes have gone through."""
        self.moved += count
        self._free = max(self._free, _loop_seconds()) + (count / bandwidth if bandwidth else 0.0)
        return self._free


async def _closed(ends):
    """Close both connections, when what was written to them has been sent."""
    for _, writer in ends:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _all(*coroutines):
    """Run all; where one fails, the others end too, and its error is raised."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _loop_seconds():
    return asyncio.get_running_loop().time()
