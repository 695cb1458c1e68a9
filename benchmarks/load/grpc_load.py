"""The closed loop of `http_load`, over gRPC: each of `callers` sends the same message again when it was answered."""

import asyncio
import time

import grpc

from benchmarks.load.http_load import Load

_CONNECTIONS = 4  # what callers of one process share; a connection of its own for each would be HTTP's way


def message(model: str, content: bytes) -> bytes:
    """Return a `ModelInferRequest` for one image, whose raw contents these are."""
    from modelserver.protocol.grpc_messages import message_class

    request = message_class("ModelInfer")(model_name=model)
    request.inputs.add(name="image", datatype="FP32", shape=[1, len(content) // 4])
    request.raw_input_contents.append(content)
    return request.SerializeToString()


def closed(port: int, sent: bytes, count: int, callers: int) -> Load:
    """Send `sent` `count` times, from so many callers at once. Raises grpc.RpcError when one is refused."""

    async def main():
        options = [("grpc.use_local_subchannel_pool", 1)]
        channels = [grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) for _ in range(_CONNECTIONS)]
        calls = [channel.unary_unary("/inference.GRPCInferenceService/ModelInfer") for channel in channels]
        await asyncio.gather(*(channel.channel_ready() for channel in channels))
        latencies: list[float] = []

        async def one(call):
            for _ in range(count // callers):
                began = time.perf_counter()
                await call(sent)
                latencies.append(time.perf_counter() - began)

        began = time.perf_counter()
        await asyncio.gather(*(one(calls[number % _CONNECTIONS]) for number in range(callers)))
        seconds = time.perf_counter() - began
        for channel in channels:
            await channel.close()
        return Load(seconds, latencies)

    return asyncio.run(main())
