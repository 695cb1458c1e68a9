"""The front process: `serve(directory)` opens the port, starts the workers, and runs until it is told to end."""

import asyncio
import contextlib
import ctypes
import logging
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import uvicorn

from modelserver.deadlines import IDLE_CONNECTION, REQUEST_ANSWERED, SERVER_DRAINS
from modelserver.front.access import Access
from modelserver.front.app import App
from modelserver.front.body import Bodies
from modelserver.front.connection import Connection, Unread, close_late
from modelserver.front.listening import Listening, connections_allowed
from modelserver.front.metrics import Metrics
from modelserver.front.models import Models
from modelserver.front.pool import Pool
from modelserver.front.queue import RequestQueue
from modelserver.front.reader import Reader
from modelserver.front.watcher import Watcher
from modelserver.signals import taken

#: glibc's names for mallopt, and bytes: a block of so many is memory of its own, which goes back to the system when it
#: is freed, and so does free memory at the heap's end. By itself glibc raises both up to 32 and 64 MB, after the sizes
#: that it sees. What is read from a socket at a time, 256 kB, stays in the heap: that is quicker.
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _LARGE_BLOCK = -3, -1, 1 << 20
#: The share of the connections that gRPC has where both ports are open.
_GRPC_SHARE = 4


@dataclass(frozen=True)
class Settings:
    """How to serve. `port` 0: any free one. `queue`, `queue_bytes`: what waits at most. `largest`: rows of a batch.

    `queue_bytes` also limits what has come of all bodies that are not whole yet, and what of all answers is not read.
    `deadline`: seconds for a request that is whole to be answered; then it gets 503.
    `model_seconds`: a batch that takes longer counts as hung. `margin`: how much worse a version's accuracy may be.
    `tls`: a PEM file with a certificate and its key. `grpc_port`: that of gRPC, 0: any free one, None: none.
    """

    host: str = "127.0.0.1"
    port: int = 8500
    workers: int = 2
    device: str = "cpu"
    simulated_gpus: int = 0
    largest: int = 64
    queue: int = 1024
    queue_bytes: int = 1 << 28
    deadline: float = REQUEST_ANSWERED
    model_seconds: float = 10.0
    margin: float = 0.02
    token: str | None = None
    tls: str | None = None
    grpc_port: int | None = None


class _Uvicorn(uvicorn.Server):
    def capture_signals(self) -> Any:
        return contextlib.nullcontext()  # ours are taken below, before the workers start


def serve(
    directory: Path, settings: Settings, ready: Callable[[int, int | None], None] = lambda port, grpc_port: None
) -> None:
    """Serve the models in `directory` until SIGINT or SIGTERM, then answer what is under way and end.

    `ready(port, grpc_port)` is called when the ports are open and all models have been looked at once. Raises OSError
    when a port is taken, or `directory` is none; ImportError where gRPC is asked for, and its libraries are missing.
    """
    if settings.grpc_port is not None:
        _check_grpc()
        _listening(settings.host, settings.grpc_port, "--grpc-port").close()  # before anything is loaded
    _return_memory()
    opened = _listening(settings.host, settings.port, "--port")
    connections = connections_allowed(settings.workers)
    of_grpc = connections // _GRPC_SHARE if settings.grpc_port is not None else 0
    with Listening(opened, connections - of_grpc, settings.tls is not None) as listening:
        asyncio.run(_serve(directory, settings, listening, ready, of_grpc))


def _return_memory():
    """Have memory of large requests and answers go back to the system; only glibc has to be told."""
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
        mallopt(_TRIM_THRESHOLD, 4 * _LARGE_BLOCK)


def _check_grpc():
    if missing := [name for name in ("grpc", "google.protobuf") if find_spec(name.partition(".")[0]) is None]:
        raise ImportError(
            f"--grpc-port: gRPC's libraries are not installed here ({', '.join(missing)}): "
            "python -m pip install 'modelserver[grpc]'"
        )


async def _serve(directory, settings, listening, ready, of_grpc):
    unread, reader = Unread(settings.queue_bytes), Reader(settings.deadline)
    pool, models, watcher, app, second = _parts(directory, settings, unread, reader, of_grpc)
    server = _Uvicorn(_config(app, settings, unread))
    loop = asyncio.get_running_loop()

    def end(*_):
        server.force_exit, server.should_exit = server.should_exit, True  # the second time nothing is waited for
        second.end(at_once=server.force_exit)

    with taken(lambda *_: loop.call_soon_threadsafe(end), signal.SIGINT, signal.SIGTERM):
        pool.start()
        serving = asyncio.create_task(server.serve([listening]))
        watching = asyncio.create_task(watcher.watch())
        closing = asyncio.create_task(close_late(server.server_state.connections))
        looked = asyncio.create_task(watcher.looked.wait())
        try:
            await asyncio.wait([serving, watching, looked], return_when=asyncio.FIRST_COMPLETED)
            if looked.done() and not serving.done():
                ready(listening.getsockname()[1], await second.start())
            await asyncio.wait([serving, watching], return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.should_exit = True
            second.end()
            await asyncio.gather(serving, second.ended())
            for task in (watching, closing, looked):
                task.cancel()
            ended = await asyncio.gather(watching, closing, looked, return_exceptions=True)
            await pool.close()
            await reader.close()
            models.close()
    for result in ended:
        if isinstance(result, Exception):
            raise result


def _parts(directory, settings, unread, reader, of_grpc):
    """Return what a server is made of: pool, models, watcher, the application of HTTP and the second port."""
    metrics, queue = Metrics(), RequestQueue(settings.queue, settings.queue_bytes, settings.largest)
    worker = {name: getattr(settings, name) for name in ("device", "largest", "simulated_gpus")}
    pool = Pool(settings.workers, worker, settings.model_seconds, settings.deadline, queue, metrics)
    models, access = Models(pool, metrics, settings.margin), Access(settings.token)
    bodies = Bodies(settings.queue_bytes)
    app = App(models, pool, queue, metrics, access, bodies, reader, settings.largest)
    second: Any = _NoSecondPort()
    if settings.grpc_port is not None:
        from modelserver.front.grpc_server import GrpcServer

        second = GrpcServer(settings, models, metrics, access, bodies, unread, of_grpc)
    return pool, models, Watcher(directory, models, metrics), app, second


class _NoSecondPort:
    """What a `GrpcServer` is to a server without one."""

    async def start(self) -> None:
        pass

    def end(self, at_once: bool = False) -> None:
        pass

    async def ended(self) -> None:
        pass


def _config(app, settings, unread):
    config = uvicorn.Config(
        app,
        http=partial(Connection, unread=unread),
        loop="asyncio",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(IDLE_CONNECTION),
        timeout_graceful_shutdown=int(SERVER_DRAINS),
        ssl_certfile=settings.tls,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return config


def _listening(host, port, flag):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise OSError(
            f"{host}:{port} can't be listened on: {error.strerror or error}. Another server may have it: take another "
            f"port, {flag} {port + 1 if port else 8501}, or {flag} 0 for a free one."
        ) from error
