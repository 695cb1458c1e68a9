"""The second port: the protocol over gRPC, by grpcio, for the same models, from the same queue, by the same limits.

A call is read and answered as a stream of one message each way, which is the same on the wire: so a token is checked
before any of the message is read, and what a call may take to come and to be read has an end.
"""

import asyncio
import itertools
import json
import secrets
import time
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from modelserver.deadlines import GRPC_CONNECTION, IDLE_CONNECTION, REQUEST_COMES, SERVER_DRAINS
from modelserver.front.access import Access
from modelserver.front.app import log_request
from modelserver.front.body import Bodies, CallerGone
from modelserver.front.connection import Unread
from modelserver.front.metrics import Metrics
from modelserver.front.models import Loaded, Models
from modelserver.protocol import grpc_messages
from modelserver.protocol.errors import Refused, wrong
from modelserver.protocol.metadata import of_model, of_server
from modelserver.versions.version import Version

#: What a message may be in any case, and what is around the tensors of a larger one, in bytes.
_LEAST, _AROUND = 1 << 22, 1 << 16
#: Calls that one connection has under way at a time; its client holds back the others.
_CALLS = 1024
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    408: grpc.StatusCode.DEADLINE_EXCEEDED,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    503: grpc.StatusCode.UNAVAILABLE,
}
#: A call's counterpart over HTTP, where it needs no token.
_OPEN = {"ServerLive": "/v2/health/live", "ServerReady": "/v2/health/ready"}


def longest_message(versions: list[Version], largest: int, most: int) -> int:
    """Return the bytes that a message may have so that `largest` rows of any version fit in, but `most` at most.

    Whole numbers that are not raw take up to ten bytes each.
    """
    rows = [
        sum(max(spec.row_bytes, 10 * spec.row_elements * (spec.dtype.kind in "iu")) for spec in one.inputs)
        for version in versions
        for one in version.signatures.values()
    ]
    return min(max(_LEAST, _AROUND + largest * max(rows, default=0)), most)


class GrpcServer:
    """A gRPC server on the running loop, at the port that `settings` names, for what is in `models`."""

    def __init__(
        self,
        settings: Any,
        models: Models,
        metrics: Metrics,
        access: Access,
        bodies: Bodies,
        unread: Unread,
        connections: int,
    ):
        self._settings, self._models, self._metrics = settings, models, metrics
        self._access, self._bodies, self._unread, self._connections = access, bodies, unread, connections
        self._prefix, self._number = secrets.token_hex(4), itertools.count(1)
        self._server: grpc.aio.Server | None = None
        self._ending: list[asyncio.Task] = []

    async def start(self) -> int:
        """Listen; return the port. The models that are loaded by now say how long a message may be.

        Raises OSError when the port is taken.
        """
        versions = [loaded.version for model in self._models.all.values() for loaded in model.loaded.values()]
        self._message_bytes = longest_message(versions, self._settings.largest, self._settings.queue_bytes)
        server = grpc.aio.server(options=_options(self._message_bytes, self._connections))
        described = grpc_messages.service()
        calls = {
            method.name: grpc.stream_stream_rpc_method_handler(partial(self._call, method.name))
            for method in described.methods
        }
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(described.full_name, calls)])
        port = self._listened(server)
        await server.start()
        self._server = server
        return port

    def end(self, at_once: bool = False) -> None:
        """Take no more calls, and answer those under way; with `at_once`, end them. May be called again."""
        if self._server is not None:
            self._ending.append(asyncio.ensure_future(self._server.stop(0 if at_once else SERVER_DRAINS)))

    async def ended(self) -> None:
        """Wait until no call is under way any more."""
        await asyncio.gather(*self._ending)

    def _listened(self, server):
        host, tls = self._settings.host, self._settings.tls
        address = f"[{host}]:{self._settings.grpc_port}" if ":" in host else f"{host}:{self._settings.grpc_port}"
        try:
            if tls is None:
                return server.add_insecure_port(address)
            pem = Path(tls).read_bytes()
            return server.add_secure_port(address, grpc.ssl_server_credentials([(pem, pem)]))
        except RuntimeError as error:
            raise OSError(f"{address} can't be listened on: {error}. Take another --grpc-port.") from None

    async def _call(self, method: str, messages: Any, context: Any) -> None:
        """Answer one call; `context` reads and writes bytes, as grpcio's handlers of streams do."""
        loaded: Loaded | None = None
        began, status = time.perf_counter(), 200
        request_id = f"{self._prefix}-{next(self._number):x}"
        context.set_trailing_metadata([("x-request-id", request_id)])
        try:
            headers = {key.encode(): _bytes(value) for key, value in context.invocation_metadata()}
            # a page in a browser speaks no gRPC: there is no host to check
            self._access.check(_OPEN.get(method, "/v2"), {**headers, b"host": b"localhost"})
            message = grpc_messages.read_message(method, await self._read(context))
            if method == "ModelInfer":
                loaded = self._models.find(message.model_name, message.model_version or None)
                answer = await self._infer(loaded, message)
            else:
                answer = grpc_messages.message_class(method, answer=True)(**self._fields(method, message))
            await self._written(context, answer.SerializeToString())
        except Refused as refusal:
            status = refusal.status
            again = [(name.lower(), value) for name, value in refusal.headers.items() if name == "Retry-After"]
            context.set_trailing_metadata([("x-request-id", request_id), *again])
            await context.abort(_CODES.get(status, grpc.StatusCode.INTERNAL), refusal.text)
        except (CallerGone, asyncio.CancelledError):
            status = 499
            raise asyncio.CancelledError from None
        finally:
            seconds = time.perf_counter() - began
            self._metrics.request_ends(loaded.version if loaded else None, status, seconds)
            log_request(f"{request_id} gRPC {method}", loaded, status, seconds)

    async def _read(self, context):
        with self._bodies.reserved(self._message_bytes):
            try:
                async with asyncio.timeout(REQUEST_COMES):
                    data = await context.read()
            except TimeoutError:
                text = f"the request was not whole after {REQUEST_COMES:g} s; send it faster, or in smaller parts."
                raise Refused(408, text) from None
        if data is grpc.aio.EOF:
            raise wrong("there is no message in this call; give one.")
        return data

    async def _written(self, context, data):
        task = asyncio.current_task()
        self._unread.add(task, lambda: len(data), task.cancel)
        try:
            async with asyncio.timeout(REQUEST_COMES):
                await context.write(data)
        except TimeoutError:
            raise CallerGone from None
        finally:
            self._unread.remove(task)

    async def _infer(self, loaded: Loaded, message: Any) -> Any:
        request = grpc_messages.read_infer(message, loaded.version.signatures, self._settings.largest)
        return grpc_messages.infer_answer(loaded.version, request, await self._models.infer(loaded, request))

    def _fields(self, method: str, message: Any) -> dict[str, Any]:
        """Return the fields of the answer to a call that is no inference."""
        if method == "ServerLive":
            return {"live": True}
        if method == "ServerReady":
            return {"ready": not self._models.why_not_ready()}
        if method == "ServerMetadata":
            return of_server() | {"extensions": []}
        if method == "ModelReady":
            return {"ready": self._is_ready(message)}
        loaded = self._models.find(message.name, message.version or None)
        about = of_model(loaded.version, sorted(self._models.all[loaded.version.model].loaded))
        for side in ("inputs", "outputs"):
            about[side] = [{key: tensor[key] for key in ("name", "datatype", "shape")} for tensor in about[side]]
        properties = {key: json.dumps(value) for key, value in about.pop("parameters").items()}
        return about | {"properties": properties}

    def _is_ready(self, message):
        try:
            return self._models.is_ready(self._models.find(message.name, message.version or None))
        except Refused as refusal:
            if refusal.status == 503:
                return False
            raise


def _options(message_bytes, connections):
    seconds = {"max_connection_idle": IDLE_CONNECTION, "server_handshake_timeout": REQUEST_COMES}
    seconds |= {"max_connection_age": GRPC_CONNECTION, "max_connection_age_grace": SERVER_DRAINS}
    options = {f"{name}_ms": int(1000 * value) for name, value in seconds.items()}
    options |= {"max_receive_message_length": message_bytes, "max_send_message_length": -1}
    options |= {"max_concurrent_streams": _CALLS, "max_allowed_incoming_connections": connections}
    options |= {"so_reuseport": 0}  # a second server at the port is refused
    return [(f"grpc.{name}", value) for name, value in options.items()]


def _bytes(value):
    return value if isinstance(value, bytes) else value.encode()
