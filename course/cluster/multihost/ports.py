"""Check that this process can listen at an address of the spec: the port is free, and the address this machine's."""

import errno
import socket
from contextlib import suppress

import psutil
from distributed.utils import ensure_ip


def check_free(address: str) -> None:
    """Raise OSError, with the next step, when this process can't listen at `address`, a `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        ip = ensure_ip(host.strip("[]"))  # as Dask takes it: "localhost" is 127.0.0.1, not ::1
        family, kind, _, _, where = socket.getaddrinfo(ip, int(port), type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise OSError(f"no host is called {host!r} here ({error.strerror}). Correct the spec") from None
    with socket.socket(family, kind) as probe:
        if hasattr(socket, "SO_REUSEPORT"):  # POSIX: a connection that has ended does not count; Windows would share
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
            probe.listen()
        except OSError as error:
            raise OSError(_why(error, address, host, int(port))) from None


def _why(error, address, host, port):
    if error.errno == errno.EADDRINUSE:
        return (
            f"{address} is taken by {_listener(port)}. If that is this task, it runs already; otherwise give the task "
            "another port in the spec"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine. Start the task on the host that the spec names, or correct it"
    if error.errno == errno.EACCES:
        return f"this system keeps port {port} for its administrator. Take one from 1024 up"
    return f"cannot listen at {address}: {error.strerror}"


def _listener(port):
    """Return who listens on `port`, as far as the system tells."""
    with suppress(psutil.Error):
        for connection in psutil.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
                return f"process {connection.pid}, {psutil.Process(connection.pid).name()}"
    return "another process"
