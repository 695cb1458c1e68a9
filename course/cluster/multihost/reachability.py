"""Why a scheduler can't be reached, in a sentence: Dask itself only says, after a while, that it timed out."""

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

from course.deadlines import HOST_ANSWER, JOIN_AGAIN_EVERY, PLAIN_GREETING, REACH, WAITING_IS_SAID

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
    host, context = host.strip("[]"), connection.get("ssl_context")
    async with asyncio.timeout(REACH):  # its steps could take longer, each within its own time
        await _check_host(host, int(port))
        if context is None:
            await _check_plain(host, int(port))
        else:
            await _check_tls(host, int(port), context)


async def _check_host(host, port):
    try:
        await _close(await _connect(host, port))
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


def _gone(host, what):
    return f"the host {host} {what}. Is it on, is the address right, and does no firewall keep us out?"


async def _check_tls(host, port, context):
    try:
        await _greet(host, port, context, HOST_ANSWER)
    except ssl.SSLCertVerificationError as error:
        raise Refused(_bad_certificate(error)) from None
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
            raise Refused(f"{host}:{port} speaks plain TCP, and this side TLS. {_BOTH}") from None
        raise Refused(f"{host}:{port} refused our TLS connection ({error.reason}). {_COPY}") from None


_BOTH = "Start every member with the certificate, or every one with --insecure, which is for loopback only"
_COPY = "Give every member a copy of the one file that `python -m course certificate` wrote"
_EXPIRED = 10  # from openssl's x509_vfy.h: X509_V_ERR_CERT_HAS_EXPIRED


def _bad_certificate(error):
    if error.verify_code == _EXPIRED:
        return (
            "the cluster's certificate has expired. Make a new one by `python -m course certificate`, for all members"
        )
    return f"the scheduler holds another certificate than this side ({error.verify_message}). {_COPY}"


async def _check_plain(host, port):
    reader, writer = await _connect(host, port)
    try:
        greeted = await asyncio.wait_for(reader.read(1), PLAIN_GREETING)
    except TimeoutError:
        greeted = None
    finally:
        await _close((reader, writer))
    if greeted is None and await _speaks_tls(host, port):
        raise Refused(f"{host}:{port} speaks TLS, and this side plain TCP. {_BOTH}")


async def _speaks_tls(host, port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent: only "is this TLS?"
    try:
        await _greet(host, port, context, PLAIN_GREETING)
    except ssl.SSLError:
        return True
    except (OSError, TimeoutError):
        return False
    return True


async def _greet(host, port, context, seconds):
    """Shake hands by TLS and hang up; unlike asyncio's own way, tell the other side what was wrong with it."""
    reader, writer = await _connect(host, port)
    try:
        await asyncio.wait_for(_shake_hands(reader, writer, context), seconds)
    finally:
        writer.close()  # when all is written: an alert too


async def _shake_hands(reader, writer, context):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing)
    while not _shaken(tls, outgoing, writer):
        if read := await reader.read(1 << 16):
            incoming.write(read)
        else:
            incoming.write_eof()


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


async def _close(connection):
    _, writer = connection
    writer.transport.abort()


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
        except Unreachable as error:
            if first:
                raise
            reason = str(error)
        except OSError as error:
            reason = str(error)
        if time.monotonic() > deadline:
            raise OSError(reason or "no answer") from None
        if waiting is not None and time.monotonic() > began + WAITING_IS_SAID:
            waiting(reason or "no answer")
            waiting = None
        await asyncio.sleep(JOIN_AGAIN_EVERY)
