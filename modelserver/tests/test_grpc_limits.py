"""Callers of the second port who are slow, read nothing, send too much or leave: they hold up no one else."""

import socket
import struct
import time

import grpc
import numpy
import pytest

from modelserver import Client
from modelserver.tests.grpc_calls import called, infer_message, output
from modelserver.tests.served import PATIENCE, export_digits, serving

pytestmark = pytest.mark.long
MESSAGE = infer_message("digits", "image", numpy.zeros((1, 784), "f4"))
PATH = "/inference.GRPCInferenceService/ModelInfer"
SECONDS = 1.5  # for a request to come, and for its answer to be read


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    directory = tmp_path_factory.mktemp("limits") / "models"
    export_digits(directory)
    deadlines = {"REQUEST_COMES": SECONDS, "SERVER_DRAINS": 5.0}
    with serving(directory, "--workers", 1, "--queue", 2, "--grpc-port", 0, deadlines=deadlines) as server:
        yield server


@pytest.fixture
def channel(served):
    with grpc.insecure_channel(served.grpc) as channel:
        yield channel


def frame(kind, flags, stream, payload=b""):
    """Return a frame of HTTP/2 (RFC 9113)."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def by_hand(served, window=65535, most=None):
    """Return a connection that has sent a call of `ModelInfer`, its message's first `most` bytes (None: all of it).

    `window`: how many bytes of the answer it lets come.
    """
    heads = {":method": "POST", ":scheme": "http", ":path": PATH}
    heads |= {":authority": "localhost", "content-type": "application/grpc", "te": "trailers"}
    packed = b"".join(b"\0" + b"".join(bytes([len(word)]) + word.encode() for word in pair) for pair in heads.items())
    body = MESSAGE.SerializeToString()
    body = (b"\0" + struct.pack(">I", len(body)) + body)[:most]
    connection = socket.create_connection(served.grpc.split(":"), PATIENCE)
    settings = frame(4, 0, 0, struct.pack(">HI", 4, window))
    call = frame(1, 4, 1, packed) + frame(0, 0 if most else 1, 1, body)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + call)
    return connection


def test_a_slow_call_is_ended_and_one_whose_answer_is_not_read_is_given_up(served, channel):
    with by_hand(served, most=50) as slow, by_hand(served, window=0):
        assert output(called(channel, "ModelInfer", MESSAGE)).shape == (1, 10)  # nobody waits for them
        received = b""
        while b"grpc-status\x014" not in received:  # DEADLINE_EXCEEDED
            received += slow.recv(4096) or pytest.fail(repr(received))
        assert b"send it faster" in received
        served.wait_for(r"gRPC ModelInfer: 408 in")
        served.wait_for(r"gRPC ModelInfer version 1: 499 in")


@pytest.mark.parametrize("packed", [None, grpc.Compression.Gzip])
def test_a_message_that_is_too_large_packed_or_not_is_refused(channel, packed):
    large = infer_message("digits", "image", numpy.zeros((6000, 784), "f4"))
    with pytest.raises(grpc.RpcError, match="larger than max") as refused:
        called(channel, "ModelInfer", large, compression=packed)
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_full_queue_refuses_and_who_left_by_a_deadline_or_a_cancel_takes_no_place(served, channel):
    def waits(count):
        ends = time.monotonic() + PATIENCE
        with Client(served.url) as client:
            while f"\nserving_queue_length {count}\n" not in client.text("/metrics"):
                assert time.monotonic() < ends
                time.sleep(0.02)

    def busy():
        with Client(served.url) as client:
            return client.text("/metrics").split("\nserving_batch_rows_count{} ")[1].split()[0]

    (worker,) = served.workers()
    batches = int(busy())
    worker.suspend()
    try:
        calls = [channel.unary_unary(PATH).future(MESSAGE.SerializeToString())]
        while int(busy()) == batches:
            time.sleep(0.02)
        for waiting in (1, 2):  # one is with the worker, two wait
            calls.append(channel.unary_unary(PATH).future(MESSAGE.SerializeToString()))
            waits(waiting)
        with pytest.raises(grpc.RpcError, match="the queue is full: 2 requests") as refused:
            called(channel, "ModelInfer", MESSAGE)
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        calls[1].cancel()
        waits(1)
        with pytest.raises(grpc.RpcError) as late:
            called(channel, "ModelInfer", MESSAGE, timeout=0.2)
        assert late.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        waits(1)
    finally:
        worker.resume()
    assert calls[0].result(PATIENCE) and calls[2].result(PATIENCE)
