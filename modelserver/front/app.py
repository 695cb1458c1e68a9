"""What each address answers. Inference, the one that is asked often, goes past the router."""

import asyncio
import itertools
import logging
import secrets
import time
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from modelserver.front.access import Access
from modelserver.front.body import Bodies, CallerGone, limit_of
from modelserver.front.connection import ANSWER_IS_READ, CANCEL_WITH_CALLER
from modelserver.front.metrics import Metrics
from modelserver.front.models import NO_WORKER, Loaded, Models
from modelserver.front.pool import Pool
from modelserver.front.queue import RequestQueue
from modelserver.front.reader import Reader
from modelserver.protocol.errors import Refused, wrong
from modelserver.protocol.metadata import of_model, of_server, openapi
from modelserver.protocol.request import read_request
from modelserver.protocol.response import response

_log = logging.getLogger(__name__)
#: A request that takes longer than this, in seconds, is logged whatever it got.
_SLOW = 1.0
#: Bytes of JSON that are read at once, in some 2 ms; more is read by the reader's process.
_LARGE_JSON = 1 << 18
#: Headers that the server obeys: two of one would leave open which counts.
_ONCE = {b"host", b"authorization", b"content-encoding", b"inference-header-content-length"}
_KNOWN = "see /openapi.json for what there is"


class App:
    """The ASGI application (asgi.readthedocs.io) of one server."""

    def __init__(
        self,
        models: Models,
        pool: Pool,
        queue: RequestQueue,
        metrics: Metrics,
        access: Access,
        bodies: Bodies,
        reader: Reader,
        largest: int,
    ):
        self._models, self._pool, self._queue, self._metrics = models, pool, queue, metrics
        self._access, self._bodies, self._reader, self._largest = access, bodies, reader, largest
        self._prefix, self._number = secrets.token_hex(4), itertools.count(1)
        self._rest = self._routed()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request (ASGI's signature)."""
        if scope["type"] != "http":
            return
        began, path, headers = time.perf_counter(), scope["path"], dict(scope["headers"])
        callers_id = headers.get(b"x-request-id", b"")
        request_id = (
            callers_id.decode()
            if callers_id.isalnum() and len(callers_id) <= 64
            else f"{self._prefix}-{next(self._number):x}"
        )
        parts, loaded, status = path.split("/"), None, 200
        try:
            _check_once(scope["headers"], headers)
            self._access.check(path, headers)
            if parts[-1] == "infer" and parts[1:3] == ["v2", "models"] and len(parts) in (5, 7):
                if scope["method"] != "POST":
                    raise Refused(405, f"{scope['method']} is not for {path!r:.200}; it takes POST.", {"Allow": "POST"})
                loaded = self._model_at(parts)
                parts_of_body, head = await self._infer(loaded, scope, receive, headers)
                await _send(send, 200, parts_of_body, request_id, head, loaded.version.number)
            else:
                scope["request_id"] = request_id
                status = await self._routed_answer(scope, receive, send, request_id)
        except Refused as refusal:
            status = refusal.status
            await _send_error(send, refusal, request_id, loaded)
        except CallerGone:
            status = 499
        seconds = time.perf_counter() - began
        self._metrics.request_ends(loaded and loaded.version, status, seconds)
        log_request(f"{request_id} {scope['method']} {path[:200]!r}", loaded, status, seconds)

    def _model_at(self, parts):
        if len(parts) == 5:
            return self._models.find(parts[3])
        if len(parts) == 7 and parts[4] == "versions":
            return self._models.find(parts[3], parts[5])
        raise Refused(404, f"there is nothing at {'/'.join(parts)!r:.200}; {_KNOWN}.")

    async def _infer(self, loaded: Loaded, scope: Any, receive: Any, headers: dict[bytes, bytes]) -> Any:
        """Return the parts of the answer's body, and the size of its JSON, None where it is all JSON."""
        await scope["extensions"][ANSWER_IS_READ]()
        body = await self._bodies.read(receive, headers, limit_of(loaded.version, self._largest))
        size = headers.get(b"inference-header-content-length")
        if size is not None and not (size.isdigit() and len(size) < 12):
            raise wrong(f"header Inference-Header-Content-Length: {size.decode('latin-1')!r:.40}; give a whole number.")
        header_size = None if size is None else int(size)
        cancel_with_caller = scope["extensions"][CANCEL_WITH_CALLER]
        content = body, header_size, loaded.version.signatures, self._largest
        large = (len(body) if header_size is None else min(header_size, len(body))) > _LARGE_JSON
        since = time.monotonic()
        request = await self._read_apart(*content, cancel_with_caller) if large else read_request(*content)
        arrays = await self._models.infer(loaded, request, cancel_with_caller, since)
        return response(loaded.version, request, arrays)

    async def _read_apart(self, body, header_size, signatures, largest, cancel_with_caller):
        with self._bodies.reserved(len(body)):
            reading = asyncio.ensure_future(self._reader.read(body, header_size, signatures, largest))
            cancel_with_caller(reading)
            try:
                return await reading
            except asyncio.CancelledError:
                raise CallerGone from None
            finally:
                cancel_with_caller(None)

    # --- everything but inference ------------------------------------------------------------------------------------

    async def _routed_answer(self, scope, receive, send, request_id):
        status = 0

        async def noting(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        await self._rest(scope, receive, noting)
        return status

    def _routed(self) -> Starlette:
        model = "/v2/models/{name}"
        version = model + "/versions/{version}"
        routes = [
            Route("/v2/health/live", lambda request: _json({"live": True})),
            Route("/v2/health/ready", self._ready),
            Route("/v2", lambda request: _json(of_server())),
            Route("/v2/", lambda request: _json(of_server())),
            *(Route(path, self._metadata) for path in (model, version)),
            *(Route(f"{path}/ready", self._model_ready) for path in (model, version)),
            Route("/v2/repository/index", self._index, methods=["POST"]),
            Route("/v2/repository/models/{name}/{verb:path}", _managed, methods=["POST"]),
            Route("/metrics", self._metrics_page),
            Route("/openapi.json", lambda request: _json(openapi())),
        ]
        handlers: dict[Any, Any] = {404: _not_there, 405: _not_so, Refused: _refused, Exception: _broken}
        return Starlette(routes=routes, exception_handlers=handlers)

    def _ready(self, request: Request) -> Response:
        if why := self._models.why_not_ready():
            raise Refused(503, f"not ready: {why}", {"Retry-After": "1"})
        return _json({"ready": True})

    def _model_ready(self, request: Request) -> Response:
        loaded = self._model_of(request)
        self._models.check_ready(loaded)
        return _json({"name": loaded.version.model, "ready": True})

    def _metadata(self, request: Request) -> Response:
        loaded = self._model_of(request)
        return _json(of_model(loaded.version, sorted(self._models.all[loaded.version.model].loaded)))

    def _model_of(self, request):
        return self._models.find(request.path_params["name"], request.path_params.get("version"))

    async def _index(self, request: Request) -> Response:
        await self._bodies.read(request.receive, dict(request.scope["headers"]), 1 << 16)
        states = []
        for model in self._models.all.values():
            for number, loaded in sorted(model.loaded.items()):
                state, reason = ("READY", "") if self._models.is_ready(loaded) else ("UNAVAILABLE", NO_WORKER)
                states.append({"name": model.name, "version": str(number), "state": state, "reason": reason})
            if model.current is None:
                states.append({"name": model.name, "version": "", "state": "UNAVAILABLE", "reason": model.problem})
        return _json(states)

    def _metrics_page(self, request: Request) -> Response:
        served = {model.name: model.current.version.number for model in self._models.all.values() if model.current}
        text = self._metrics.text(self._queue.length, self._queue.bytes, len(self._pool.pids), served)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def log_request(request: str, loaded: Loaded | None, status: int, seconds: float) -> None:
    """Log a request, by its id and address, that failed or was slow; another only where all are logged."""
    failed = status >= 400 or seconds > _SLOW
    if failed or _log.isEnabledFor(logging.DEBUG):
        version = f" version {loaded.version.number}" if loaded else ""
        level = logging.WARNING if failed else logging.DEBUG
        _log.log(level, "request %s%s: %d in %.1f ms", request, version, status, seconds * 1e3)


def _check_once(fields, headers):
    """Raise Refused, 400, where a request's `fields` lack a host, or have a header twice that counts once."""
    if len(headers) < len(fields):
        names = [name for name, _ in fields]
        if twice := [name for name in names if name in _ONCE and names.count(name) > 1]:
            raise wrong(f"header {twice[0].decode().title()}: it is there twice; give it once.")
    if b"host" not in headers:
        raise wrong("header Host: it is missing; give the name or address, and the port, that you connect to.")


def _json(value: Any, status: int = 200, headers: Any = None) -> Response:
    return Response(orjson.dumps(value), status, headers, "application/json")


def _managed(request: Request) -> Response:
    verb = request.path_params["verb"]
    raise Refused(
        400,
        f"repository: {verb!r:.40} is not done over HTTP: versions are taken up from the folder as they appear. To go "
        "back: python -m modelserver versions FOLDER MODEL --serve previous",
    )


def _refused(request, refusal):
    return _json({"error": refusal.text}, refusal.status, refusal.headers)


def _not_there(request, error):
    return _json({"error": f"there is nothing at {request.url.path!r:.200}; {_KNOWN}."}, 404)


def _not_so(request, error):
    legal = (error.headers or {}).get("Allow", "")
    return _json(
        {"error": f"{request.method} is not for {request.url.path!r:.200}; it takes {legal}."}, 405, error.headers
    )


def _broken(request, error):
    return _json(
        {"error": f"an error of the server's own, request {request.scope.get('request_id')}: see its log."}, 500
    )


async def _send(send, status, parts, request_id, head, version):
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    headers = [
        (b"content-type", b"application/json" if head is None else b"application/octet-stream"),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id.encode()),
        (b"x-model-version", str(version).encode()),
    ]
    if head is not None:
        headers.append((b"inference-header-content-length", str(head).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _send_error(send, refusal, request_id, loaded):
    body = orjson.dumps({"error": refusal.text})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(key.lower().encode(), value.encode()) for key, value in refusal.headers.items()]
    if loaded is not None:
        headers.append((b"x-model-version", str(loaded.version.number).encode()))
    await send(
        {
            "type": "http.response.start",
            "status": refusal.status,
            "headers": [*headers, (b"x-request-id", request_id.encode())],
        }
    )
    await send({"type": "http.response.body", "body": body})
