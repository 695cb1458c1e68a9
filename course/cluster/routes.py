"""How a process reaches others where their own address does not: a tunnel, a forwarded port, another network."""

import re
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from distributed.comm import Comm
from distributed.comm.addressing import parse_host_port, unparse_host_port
from distributed.core import ConnectionPool

from course.cluster.spec import HOST

_LEGAL = (
    "say where the others are, and where they are found from here, as in 10.0.0.5:4000=localhost:14000; without ports, "
    "10.0.0.5=203.0.113.7, every port of that host keeps its number"
)


@dataclass(frozen=True)
class Routes:
    """Where this process finds what others announce. `ways`: `host:port`, or `host`, to the same as found from here.

    A way of a port comes before the one of its host. What has no way is found where it is announced. Two names of one
    address count as the same. Plain data inside, so that it can be sent.

    >>> routes = Routes({"10.0.0.5:4000": "localhost:14000", "10.0.0.6": "203.0.113.7"})
    >>> routes(("10.0.0.5", 4000)), routes(("10.0.0.6", 2222)), routes(("10.0.0.5", 4001))
    (('localhost', 14000), ('203.0.113.7', 2222), ('10.0.0.5', 4001))
    """

    ways: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_flags(cls, texts: Iterable[str]) -> "Routes":
        """Return the routes that `--route THERE=HERE` gives, once or more; ValueError that names a wrong one."""
        ways: dict[str, str] = {}
        for text in texts:
            origin, _, here = (part.strip() for part in text.partition("="))
            if not (_is_address(origin) and _is_address(here)) or (_port(origin) is None) != (_port(here) is None):
                raise ValueError(f"--route {text}: {_LEGAL}.")
            if ways.setdefault(origin, here) != here:
                raise ValueError(f"--route {text}: {origin} has a way already, {ways[origin]}. Give each address one.")
        return cls(ways)

    def __bool__(self) -> bool:
        return bool(self.ways)

    def __call__(self, address: tuple[str, int]) -> tuple[str, int]:
        """Return the (host, port) at which this process finds who announces `address`, a (host, port)."""
        host, port = address
        for origin, here in sorted(self.ways.items(), key=lambda way: _port(way[0]) is None):
            if _port(origin) in (port, None) and _same(_host(origin), host):
                return _host(here), _port(here) or port
        return host, port


def found_at(address: str, route: Callable[[tuple[str, int]], tuple[str, int]] | None) -> str:
    """Return where `address`, a `host:port` with or without a protocol before it, is found by `route`; None: there.

    >>> found_at("tls://10.0.0.5:4000", Routes({"10.0.0.5": "localhost"}))
    'tls://localhost:4000'
    """
    if route is None:
        return address
    protocol, slashes, where = address.rpartition("://")
    return protocol + slashes + unparse_host_port(*route(parse_host_port(where)))


class RoutedPool(ConnectionPool):
    """Dask's connections from one process to others, each by its `route`; with all the settings of `pool`."""

    def __init__(self, pool: ConnectionPool, route: Routes):
        names = ("limit", "deserialize", "serializers", "allow_offload", "deserializers", "connection_args", "timeout")
        settings: dict[str, Any] = {name: getattr(pool, name) for name in names}
        super().__init__(**settings, server=pool.server() if pool.server else None)
        self._route = route

    async def connect(self, addr: str, timeout: float | None = None) -> Comm:
        """Connect as Dask does, by the route."""
        return await super().connect(found_at(addr, self._route), timeout)

    def reuse(self, addr: str, comm: Comm) -> None:
        """Take a connection back, as Dask does."""
        super().reuse(found_at(addr, self._route), comm)

    def remove(self, addr: str, **why: Any) -> None:
        """Close the connections to an address, as Dask does."""
        super().remove(found_at(addr, self._route), **why)


def _is_address(text):
    host = text if (port := _port(text)) is None else text.rpartition(":")[0]
    return bool(HOST.fullmatch(host)) and (port is None or 0 < port < 65536)


def _port(text):
    """Return the port that `text` ends with, None where it has none."""
    match = re.search(r":(\d{1,6})$", text) if not text.endswith("]") else None
    return int(match[1]) if match else None


def _host(text):
    """Return the host of `text`, without the brackets of an address with colons."""
    return (text if _port(text) is None else text.rpartition(":")[0]).strip("[]")


def _same(first, second):
    return first == second or bool(_numbers(first) & _numbers(second))


def _numbers(host):
    """Return the addresses of `host` in numbers, none where its name means nothing here."""
    try:
        return {resolved[4][0] for resolved in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return set()
