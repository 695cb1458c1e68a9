"""Why a scheduler can't be reached, in a sentence: Dask itself only says, after a while, that it timed out."""

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

from course.deadlines import HOST_ANSWER, JOIN_AGAIN_EVERY, REACH

#: For Dask's first bytes on a connection without TLS, which both ends write at once.
PLAIN_GREETING = 1.5
#: A task says that it waits for its scheduler when it has waited so long: tasks started together need a second or two.
WAITING_IS_SAID = 3.0

_ABSENT = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}


class Refused(RuntimeError):
    """Waiting would not help; the message says what is wrong and what to do."""


class Unreachable(Refused):
    """The host can't be found or does not answer. Waiting helps only where it did before."""


async def reach(address: str, connection: dict[str, Any]) -> None:
    """Return when a scheduler seems to listen at `address` (`host:port`) and to hold the same certificate.

    `connection`: what Dask's `Security.get_connection_args` says. Raises Refused, Unreachable, and OSError where no one
    listens yet or no one answers; in at most ten seconds.
    """
    host, _, port = address.rpartition(":")
    where, context = (host.strip("[]"), int(port)), connection.get("ssl_context")
    async with asyncio.timeout(REACH):  # its steps could take longer, each within its own time
        await _check_host(*where)
        await (_check_plain(*where) if context is None else _check_tls(*where, context))


async def _check_host(host, port):
    try:
        _, writer = await _connect(host, port)
        writer.transport.abort()
    except socket.gaierror as error:
        raise Unreachable(
            f"no host is called {host!r} here ({error.strerror}). Correct the spec, or use its address in numbers"
        ) from None
    except TimeoutError:
        raise Unreachable(_gone(host, f"has not answered for {HOST_ANSWER:.0f} s")) from None
    except OSError as error:
        if error.errno in _ABSENT:
            raise Unreachable(_gone(host, f"can't be reached ({error.strerror})")) from None
        raise


def _gone(host, problem):
    return f"the host {host} {problem}. Is it on, is the address right, and does no firewall keep us out?"


async def _check_tls(host, port, context):
    try:
        await _greet(host, port, context, HOST_ANSWER)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == _EXPIRED:
            advice = "Make a new one by `python -m course certificate`, for all members"
            raise Refused(f"the cluster's certificate has expired. {advice}") from None
        other = f"the scheduler holds another certificate than this side ({error.verify_message})"
        raise Refused(f"{other}. {_COPY}") from None
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):  # either, by the version of OpenSSL and of Python
        ended = f"{host}:{port} took the connection and ended it, as a tunnel does while nobody listens behind it"
        raise ConnectionResetError(ended) from None
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
            raise Refused(f"{host}:{port} speaks plain TCP, and this side TLS. {_BOTH}") from None
        raise Refused(f"{host}:{port} refused our TLS connection ({error.reason}). {_COPY}") from None


_BOTH = "Start every member with the certificate, or every one with --insecure, which is for loopback only"
_COPY = "Give every member a copy of the one file that `python -m course certificate` wrote"
_EXPIRED = 10  # from openssl's x509_vfy.h: X509_V_ERR_CERT_HAS_EXPIRED


async def _check_plain(host, port):
    reader, writer = await _connect(host, port)
    try:
        greeted = await asyncio.wait_for(reader.read(1), PLAIN_GREETING)
    except TimeoutError:
        greeted = None
    finally:
        writer.transport.abort()
    if greeted is None and await _speaks_tls(host, port):
        raise Refused(f"{host}:{port} speaks TLS, and this side plain TCP. {_BOTH}")


async def _speaks_tls(host, port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent: only "is this TLS?"
    try:
        await _greet(host, port, context, PLAIN_GREETING)
    except (OSError, TimeoutError) as error:
        return isinstance(error, ssl.SSLError)
    return True


async def _greet(host, port, context, seconds):
    """Shake hands by TLS and hang up; unlike asyncio's own way, tell the other side what was wrong with it."""
    reader, writer = await _connect(host, port)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing)
    try:
        async with asyncio.timeout(seconds):
            while not _shaken(tls, outgoing, writer):
                if read := await reader.read(1 << 16):
                    incoming.write(read)
                else:
                    incoming.write_eof()
    finally:
        writer.close()  # when all is written: an alert too


def _shaken(tls, outgoing, writer):
    """Take the handshake as far as it goes with what has come in; say whether it is done."""
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return False
    finally:
        writer.write(outgoing.read())  # in every case: where it fails, this tells the other side why
    return True


async def _connect(host, port):
    return await asyncio.wait_for(asyncio.open_connection(host, port), HOST_ANSWER)


async def reach_within(
    patience: float,
    address: str,
    connection: dict[str, Any],
    first: bool = True,
    waiting: Callable[[str], None] | None = None,
) -> None:
    """`reach`, again and again for `patience` seconds while no one listens; raise OSError with the last reason.

    `first`: whether this is the first contact; later ones wait for an unreachable host too: a cable may be back soon.
    `waiting(reason)` is called once when it has taken longer than others need to start.
    """
    began = time.monotonic()
    deadline = began + patience
    while True:
        try:
            return await reach(address, connection)
        except (Unreachable, OSError) as error:
            if first and isinstance(error, Unreachable):
                raise
            reason = str(error) or "no answer"
        if time.monotonic() > deadline:
            raise OSError(reason)
        if waiting is not None and time.monotonic() > began + WAITING_IS_SAID:
            waiting(reason)
            waiting = None
        await asyncio.sleep(JOIN_AGAIN_EVERY)
