"""The front process: `serve(directory)` opens the port, starts the workers, and runs until it is told to end."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from modelserver.deadlines import IDLE_CONNECTION, SERVER_DRAINS
from modelserver.front.access import Access
from modelserver.front.app import App
from modelserver.front.body import Bodies
from modelserver.front.connection import Connection, close_late
from modelserver.front.metrics import Metrics
from modelserver.front.models import Models
from modelserver.front.pool import Pool
from modelserver.front.queue import RequestQueue
from modelserver.front.watcher import Watcher
from modelserver.signals import taken


@dataclass(frozen=True)
class Settings:
    """How to serve. `port` 0: any free one. `queue`, `queue_bytes`: what waits at most. `largest`: rows of a batch.

    `queue_bytes` also limits what has come of all bodies that are not whole yet.
    `model_seconds`: a batch that takes longer counts as hung. `margin`: how much worse a version's accuracy may be.
    `tls`: a PEM file with a certificate and its key.
    """

    host: str = "127.0.0.1"
    port: int = 8500
    workers: int = 2
    device: str = "cpu"
    simulated_gpus: int = 0
    largest: int = 64
    queue: int = 1024
    queue_bytes: int = 1 << 28
    model_seconds: float = 10.0
    margin: float = 0.02
    token: str | None = None
    tls: str | None = None


class _Uvicorn(uvicorn.Server):
    def capture_signals(self) -> Any:
        return contextlib.nullcontext()  # ours are taken below, before the workers start


def serve(directory: Path, settings: Settings, ready: Callable[[int], None] = lambda port: None) -> None:
    """Serve the models in `directory` until SIGINT or SIGTERM, then answer what is under way and end.

    `ready(port)` is called when the port is open and all models have been looked at once. Raises OSError when the port
    is taken, or `directory` is none.
    """
    listening = _listening(settings)
    with contextlib.closing(listening):
        asyncio.run(_serve(directory, settings, listening, ready))


async def _serve(directory, settings, listening, ready):
    metrics, queue = Metrics(), RequestQueue(settings.queue, settings.queue_bytes, settings.largest)
    worker = {name: getattr(settings, name) for name in ("device", "largest", "simulated_gpus")}
    pool = Pool(settings.workers, worker, settings.model_seconds, queue, metrics)
    models = Models(pool, metrics, settings.margin)
    watcher = Watcher(directory, models, metrics)
    bodies = Bodies(settings.queue_bytes)
    app = App(models, pool, queue, metrics, Access(settings.token), bodies, settings.largest)
    server = _Uvicorn(_config(app, settings))
    loop = asyncio.get_running_loop()

    def end(*_):
        server.force_exit, server.should_exit = server.should_exit, True  # the second time nothing is waited for

    with taken(lambda *_: loop.call_soon_threadsafe(end), signal.SIGINT, signal.SIGTERM):
        pool.start()
        serving = asyncio.create_task(server.serve([listening]))
        watching = asyncio.create_task(watcher.watch())
        closing = asyncio.create_task(close_late(server.server_state.connections))
        looked = asyncio.create_task(watcher.looked.wait())
        try:
            await asyncio.wait([serving, watching, looked], return_when=asyncio.FIRST_COMPLETED)
            if looked.done() and not serving.done():
                ready(listening.getsockname()[1])
            await asyncio.wait([serving, watching], return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.should_exit = True
            await serving
            for task in (watching, closing, looked):
                task.cancel()
            ended = await asyncio.gather(watching, closing, looked, return_exceptions=True)
            await pool.close()
            models.close()
    for result in ended:
        if isinstance(result, Exception):
            raise result


def _config(app, settings):
    config = uvicorn.Config(
        app,
        http=Connection,
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


def _listening(settings):
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=512)
    except OSError as error:
        raise OSError(
            f"{settings.host}:{settings.port} can't be listened on: {error.strerror or error}. Another server may have "
            f"it: take another port, --port {settings.port + 1 if settings.port else 8501}, or --port 0 for a free one."
        ) from error
