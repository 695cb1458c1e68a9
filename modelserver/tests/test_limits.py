"""A server that lacks something: a model's folder, a worker, files, callers that read. All the rest of it goes on."""

import json
import os
import re
import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import grpc
import numpy
import pytest
import torch

from modelserver import Client, ServingError, export
from modelserver.protocol.grpc_messages import message_class
from modelserver.tests.grpc_calls import called, infer_message
from modelserver.tests.served import PATIENCE, export_digits, serving, until
from modelserver.tests.slow.churn import both_up
from modelserver.tests.test_bad_input import Caller

DEADLINE = 1.5
ROW = {"image": numpy.zeros((1, 784), "f4")}


def body(rows):
    tensor = {"name": "image", "shape": [rows, 784], "datatype": "FP32", "data": [0.0625] * (784 * rows)}
    return json.dumps({"inputs": [tensor]}).encode()


BODY, LARGE = body(1), body(64)
assert len(LARGE) > 1 << 18
pytestmark = pytest.mark.long


def status(served, path, method="GET"):
    """Return the status of an answer, its headers, and its JSON."""
    with Caller(served) as caller:
        caller.send(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
        return caller.answer()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("limits") / "models"
    export_digits(directory)
    export(torch.nn.Linear(3, 2), torch.ones(2, 3), directory, name="line")
    return directory


def test_a_request_without_an_answer_by_its_deadline_gets_503(models):
    flags = ("--workers", 1, "--model-seconds", 100, "--deadline", DEADLINE, "--grpc-port", 0)
    with serving(models, *flags) as served, grpc.insecure_channel(served.grpc) as channel:
        (worker,) = served.workers()
        worker.suspend()
        with Caller(served) as caller:
            began = time.monotonic()
            caller.post(BODY)
            code, headers, content = caller.answer()
            assert DEADLINE <= time.monotonic() - began
        assert (code, headers["retry-after"]) == (503, "1") and "no answer in 1.5 s" in content["error"]
        with pytest.raises(grpc.RpcError) as late:
            called(channel, "ModelInfer", infer_message("digits", "image", ROW["image"]))
        assert late.value.code() == grpc.StatusCode.UNAVAILABLE and "no answer in 1.5 s" in late.value.details()
        assert dict(late.value.trailing_metadata())["retry-after"] == "1"
        with Client(served.url, deadline=PATIENCE) as client:
            assert "\nserving_queue_length 0\n" in client.text("/metrics")
            worker.resume()
            assert client.infer("digits", ROW)["scores"].shape == (1, 10)


@pytest.fixture
def served(models):
    flags = ("--workers", 2, "--model-seconds", 100, "--deadline", PATIENCE, "--grpc-port", 0)
    with serving(models, *flags, deadlines={"WORKER_STARTS_AGAIN_MOST": 1.0}) as server:
        yield server


@pytest.mark.faults
def test_a_batch_that_no_worker_had_begun_is_no_attempt_of_the_models(served):
    """Each worker gets the batch while it is suspended, and dies before it reads it."""
    with Client(served.url, deadline=PATIENCE) as client, Caller(served) as caller:
        before = {worker.pid: worker for worker in both_up(client, served)}
        for worker in before.values():
            worker.suspend()
        batches = _batches(client)
        caller.post(BODY)
        order = [int(match[1]) for line in served.lines if line and (match := re.search(r"worker (\d+) answers", line))]
        for number, pid in enumerate(order, 1):  # who is idle for longest gets a batch
            until(lambda number=number: _batches(client) == batches + number)
            before[pid].kill()
        code, _, content = caller.answer()
        assert code == 200, content


def _batches(client):
    lines = client.text("/metrics").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("serving_batch_rows_count")))


@pytest.mark.faults
def test_a_model_whose_folder_is_gone_takes_no_other_with_it_and_is_ready_only_with_a_worker_that_has_it(
    models, served
):
    folder, aside = models / "line", models / ".line"
    line = {"input": numpy.ones((1, 3), "f4")}
    with Client(served.url, deadline=PATIENCE) as client:
        before = both_up(client, served)
        assert client.infer("line", line)["output"].shape == (1, 2)
        folder.rename(aside)
        for worker in before:
            worker.kill()
        try:
            served.wait_for(r"ERROR worker \d+ goes without what it can't load: ")
            for _ in range(10):
                assert client.infer("digits", ROW)["scores"].shape == (1, 10)
            _line_is_not_ready_and_digits_is(served)
            with Client(served.url, deadline=0.5) as hasty, pytest.raises(ServingError, match="no worker could load"):
                hasty.infer("line", line)
        finally:
            aside.rename(folder)
        until(lambda: client.ready())  # workers try again
        assert client.infer("line", line)["output"].shape == (1, 2)
        assert status(served, "/v2/models/line/ready")[0] == 200


def _line_is_not_ready_and_digits_is(served):
    code, headers, content = status(served, "/v2/models/line/ready")
    assert (code, headers["retry-after"]) == (503, "1") and "no worker that can answer has it" in content["error"]
    assert status(served, "/v2/models/digits/ready")[0] == 200
    assert "line: no worker" in status(served, "/v2/health/ready")[2]["error"]
    states = {model["name"]: model["state"] for model in status(served, "/v2/repository/index", "POST")[2]}
    assert states == {"digits": "READY", "line": "UNAVAILABLE"}
    with grpc.insecure_channel(served.grpc) as channel:
        ready = message_class("ModelReady")
        assert called(channel, "ModelReady", ready(name="digits")).ready
        assert not called(channel, "ModelReady", ready(name="line")).ready
        assert not called(channel, "ServerReady").ready


@pytest.mark.faults
def test_after_the_reader_ended_another_reads_large_json(served):
    with Caller(served) as caller:
        for _ in range(2):
            caller.post(LARGE)
            assert caller.answer()[0] == 200
            until(served.readers)
            served.readers()[0].suspend()
            caller.post(LARGE)
            served.readers()[0].kill()
            code, headers, content = caller.answer()
            assert (code, headers["retry-after"]) == (503, "1") and "the request can't be read now" in content["error"]


@pytest.mark.skipif(os.name != "posix", reason="a limit of open files")
def test_a_server_with_few_files_refuses_connections_and_goes_on_with_those_it_has(models):
    files = 256
    with serving(models, "--workers", 1, files=files) as served, ExitStack() as stack:
        served_before = [stack.enter_context(Client(served.url, deadline=PATIENCE)) for _ in range(3)]
        assert all(client.ready() for client in served_before)
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", served.port), PATIENCE)) for _ in range(400)]
        refused = [one for one in idle[-100:] if b"HTTP/1.1 503 " in one.recv(100)]
        assert len(refused) == 100
        (worker,) = served.workers()
        worker.kill()  # files for another are there
        for client in served_before:
            assert client.infer("digits", ROW)["scores"].shape == (1, 10)
        for one in idle:
            one.close()
        with Client(served.url, deadline=PATIENCE) as later:
            assert later.infer("digits", ROW)["scores"].shape == (1, 10)
        lines = [line for line in served.lines if line and "connections were refused" in line]
        assert 1 <= len(lines) < 10 and not [line for line in served.lines if line and "out of system resource" in line]


class Wide(torch.nn.Module):
    """Answers with 2 million numbers a row: 8 MB."""

    def forward(self, x):
        return x.repeat(1, 1 << 21)


def resident(pid):
    """Return the memory that a process has, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1e3


@pytest.mark.skipif(sys.platform != "linux", reason="/proc knows a process's memory")
def test_answers_that_nobody_reads_have_a_bound_and_their_memory_returns(tmp_path):
    directory = tmp_path / "models"
    export(Wide(), torch.ones(2, 1), directory, name="wide")
    ask = infer_message("wide", "x", numpy.ones((1, 1), "f4"))
    message = {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [1]}]}
    body = json.dumps(message | {"parameters": {"binary_data_output": True}}).encode()
    with serving(directory, "--workers", 1, "--largest", 4, "--grpc-port", 0) as served, ExitStack() as stack:
        before = resident(served.process.pid)
        for _ in range(80):  # 640 MB
            caller = stack.enter_context(Caller(served))
            caller.post(body, "/v2/models/wide/infer")
        served.wait_for("an answer is given up with .* not read")
        with Client(served.url, deadline=PATIENCE) as client:
            assert client.infer("wide", {"x": numpy.ones((1, 1), "f4")})["output"].shape == (1, 1 << 21)
            held = resident(served.process.pid)
        stack.pop_all().close()
        options = [("grpc.max_receive_message_length", -1)]
        with grpc.insecure_channel(served.grpc, options) as channel:
            assert called(channel, "ModelInfer", ask).outputs[0].shape == [1, 1 << 21]
        until(lambda: resident(served.process.pid) < before + 40)
    assert held < before + 256 + 80
