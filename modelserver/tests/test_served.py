"""A server as a reader starts it, asked over HTTP: answers, refusals, metrics, versions that change."""

import contextlib
import gzip
import json
import re
import socket
import threading

import grpc
import httpx
import numpy
import pytest
import torch
from click.testing import CliRunner

from modelserver import Client, ServingError, export, pin
from modelserver.commands import versions
from modelserver.protocol.grpc_messages import message_class
from modelserver.tests.grpc_calls import called, infer_message, output
from modelserver.tests.served import PATIENCE, Digits, export_digits, serving, until


class Table(torch.nn.Module):
    """Raises an error at a token that is not in its table."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 3)

    def forward(self, token):
        return self.table(token)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("served") / "models"
    export_digits(directory, seed=1, labels=list("0123456789"))
    export(Table(), torch.tensor([0, 9]), directory, name="table")
    return directory


@pytest.fixture(scope="module")
def served(models):
    with serving(models, "--workers", 2, "--largest", 32, "--grpc-port", 0) as server:
        large = as_json(images(32))  # starts a reader
        httpx.post(f"{server.url}/v2/models/digits/infer", json=large, timeout=PATIENCE).raise_for_status()
        yield server


@pytest.fixture
def client(served):
    with Client(served.url, deadline=PATIENCE) as client:
        yield client


@pytest.fixture
def http(served):
    with httpx.Client(base_url=served.url, timeout=PATIENCE) as http:
        yield http


def images(rows, seed=0):
    return torch.rand(rows, 784, generator=torch.Generator().manual_seed(seed))


def own_answer(version, rows):
    with torch.no_grad():
        return Digits(version)(rows).numpy()


def as_json(rows):
    return {
        "inputs": [{"name": "image", "shape": list(rows.shape), "datatype": "FP32", "data": rows.flatten().tolist()}]
    }


def test_the_log_of_a_healthy_start_has_its_workers_and_versions_and_no_warning(served):
    for line in (r" INFO worker \d+ answers", " INFO digits version 1 is served", " INFO table version 1 is served"):
        served.wait_for(line)
    assert [line for line in served.lines if " WARNING " in line or " ERROR " in line] == []


def test_ten_lines_of_httpx_get_the_answer(http):
    rows = images(3)
    response = http.post("/v2/models/digits/infer", json=as_json(rows) | {"id": "mine"}).raise_for_status()
    (output,) = response.json()["outputs"]
    assert (response.json()["model_version"], response.json()["id"], output["shape"]) == ("1", "mine", [3, 10])
    assert response.headers["x-model-version"] == "1" and response.headers["x-request-id"]
    numpy.testing.assert_allclose(numpy.reshape(output["data"], (3, 10)), own_answer(1, rows), atol=1e-5)


def test_ready_and_a_wrong_method_are_answered_as_the_protocol_says(http):
    for path in ("/v2/models/digits/ready", "/v2/models/digits/versions/1/ready"):
        assert http.get(path).json() == {"name": "digits", "ready": True}
    refused = http.get("/v2/models/digits/infer")
    assert refused.headers["allow"] == "POST" and "it takes POST" in refused.json()["error"]
    assert http.head("/v2/models/digits/infer").status_code == 405


def test_large_json_is_read_by_a_process_of_its_own_while_others_are_answered(served, http, client):
    rows = images(32)
    message = as_json(rows)
    assert len(json.dumps(message)) > 1 << 18
    answer = http.post("/v2/models/digits/infer", json=message | {"id": "mine"}).raise_for_status().json()
    scores = numpy.reshape(answer["outputs"][0]["data"], (32, 10))
    assert answer["id"] == "mine"
    numpy.testing.assert_allclose(scores, own_answer(int(answer["model_version"]), rows), atol=1e-5)
    message["inputs"][0]["data"][-1] = None
    wrong = http.post("/v2/models/digits/infer", json=message)
    assert wrong.status_code == 400 and "data has None; FP32 takes numbers" in wrong.json()["error"]
    (reader,) = served.readers()
    reader.suspend()
    try:
        address, large = f"{served.url}/v2/models/digits/infer", []
        asking = threading.Thread(target=lambda: large.append(httpx.post(address, json=message, timeout=PATIENCE)))
        asking.start()
        for _ in range(20):
            assert client.infer("digits", {"image": images(1).numpy()}).attempts == 1
        assert not large
    finally:
        reader.resume()
    asking.join()
    assert large[0].status_code == 400


def test_its_own_client_gets_arrays_and_the_version_and_hears_what_is_wrong(client):
    rows = images(4, seed=2)
    answer = client.infer("digits", {"image": rows.numpy()})
    numpy.testing.assert_allclose(answer["scores"], own_answer(answer.version, rows), atol=1e-5)
    assert answer.attempts == 1 and client.ready() and client.metadata()["name"] == "modelserver"
    for call, status, reason in (
        (lambda: client.infer("digits", {"image": rows.double().numpy()}), 400, "takes FP32"),
        (lambda: client.infer("digits", {"image": images(33).numpy()}), 400, "rows from 1 to 32"),
        (lambda: client.infer("digit", {"image": rows.numpy()}), 404, "there are: digits, table"),
        (lambda: client.infer("digits", {"image": rows.numpy()}, version=99), 404, "version '99'"),
        (lambda: client.metadata("../digits"), 404, "there is"),
    ):
        with pytest.raises(ServingError, match=reason) as refused:
            call()
        assert refused.value.status == status and refused.value.attempts == 1


def test_a_version_answers_by_each_of_its_signatures(client, models):
    about = client.metadata("digits")
    assert about["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 784]}]
    assert list(about["parameters"]["signatures"]) == ["serving_default", "features"]
    features = torch.rand(3, 100)
    answer = client.infer("digits", {"features": features.numpy()}, signature="features")
    with torch.no_grad():
        numpy.testing.assert_allclose(answer["scores"], Digits(answer.version).classify(features).numpy(), atol=1e-5)
    listed = CliRunner().invoke(versions, [str(models), "digits"]).output
    assert "   features: features FP32 [-1, 100] → scores FP32 [-1, 10]\n" in listed
    for name, reason in (("features", "'image'; the model takes features"), ("faces", "serving_default, features")):
        with pytest.raises(ServingError, match=reason) as refused:
            client.infer("digits", {"image": images(1).numpy()}, signature=name)
        assert refused.value.status == 400


@pytest.fixture
def channel(served):
    with grpc.insecure_channel(served.grpc) as channel:
        yield channel


def test_over_grpc_the_same_model_answers_and_the_same_page_counts(channel, client):
    rows, number = images(3).numpy(), client.metadata("digits")["parameters"]["version"]
    counter = f'serving_requests_total{{model="digits",version="{number}",status="200"}}'

    def counted():
        return float((re.findall(rf"^{re.escape(counter)} (\d+)", client.text("/metrics"), re.M) or ["0"])[0])

    before = counted()
    answer = called(channel, "ModelInfer", infer_message("digits", "image", rows, id="mine"))
    assert (answer.model_version, answer.id) == (number, "mine")
    until(lambda: counted() == before + 1)  # it is counted once it is sent, and may be here sooner
    numpy.testing.assert_allclose(output(answer), own_answer(int(number), images(3)), atol=1e-5)
    message = infer_message("digits", "features", rows[:, :100])
    message.parameters["signature_name"].string_param = "features"
    assert output(called(channel, "ModelInfer", message)).shape == (3, 10)


def test_over_grpc_all_else_is_as_over_http(channel, client):
    assert called(channel, "ServerLive").live and called(channel, "ServerReady").ready
    assert called(channel, "ServerMetadata").name == "modelserver"
    about = called(channel, "ModelMetadata", message_class("ModelMetadata")(name="digits"))
    wanted = client.metadata("digits")
    assert (about.name, list(about.versions), about.platform) == tuple(
        wanted[k] for k in ("name", "versions", "platform")
    )
    assert [(one.name, one.datatype, list(one.shape)) for one in about.inputs] == [("image", "FP32", [-1, 784])]
    assert {key: json.loads(text) for key, text in about.properties.items()} == wanted["parameters"]
    assert called(channel, "ModelReady", message_class("ModelReady")(name="digits")).ready


@pytest.mark.parametrize(
    "method, message, code, reason",
    [
        ("ModelInfer", ("digit", "image", numpy.zeros((1, 784), "f4")), "NOT_FOUND", "there are: digits, table"),
        ("ModelInfer", ("digits", "image", numpy.zeros((33, 784), "f4")), "INVALID_ARGUMENT", "rows from 1 to 32"),
        ("ModelInfer", ("table", "token", numpy.array([99])), "INTERNAL", "the model failed at these inputs"),
        ("ModelInfer", ("digits", "image", numpy.zeros((2000, 784), "f4")), "RESOURCE_EXHAUSTED", "larger than max"),
        ("ModelReady", {"name": "digit"}, "NOT_FOUND", "there are: digits, table"),
        ("ModelMetadata", {"name": "digits", "version": "99"}, "NOT_FOUND", "version '99'"),
    ],
)
def test_over_grpc_a_refusal_has_its_code_and_the_same_words(channel, method, message, code, reason):
    message = infer_message(*message) if isinstance(message, tuple) else message_class(method)(**message)
    with pytest.raises(grpc.RpcError, match=reason) as refused:
        called(channel, method, message)
    assert refused.value.code().name == code


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/", 404),
        ("GET", "/v2/models/digits/infer", 405),
        ("PUT", "/v2/models/digits/versions/1/infer", 405),
        ("POST", "/v2/models/digits", 405),
        ("POST", "/v2/models/digits/versions/1/more/infer", 404),
        ("POST", "/v2/models/digits/versions/x/infer", 404),
        ("GET", "/v2/models/%00", 404),
        ("POST", "/v2/repository/models/digits/unload", 400),
    ],
)
def test_every_refusal_has_the_protocols_form(http, method, path, status):
    response = http.request(method, path)
    assert response.status_code == status and set(response.json()) == {"error"} and response.headers["x-request-id"]


def test_one_callers_fault_costs_no_other_the_answer(client, served):
    """An index that isn't there makes the whole batch fail: each request of it is tried again, alone."""
    good = numpy.array([1, 2])
    wanted = client.infer("table", {"token": good})["output"]
    answers, barrier = [], threading.Barrier(6)

    def ask_ten_times(tokens):
        with Client(served.url, deadline=PATIENCE) as mine:
            barrier.wait()
            for _ in range(10):
                try:
                    answers.append((tokens is good, mine.infer("table", {"token": tokens})["output"]))
                except ServingError as error:
                    answers.append((tokens is good, error.status))

    threads = [threading.Thread(target=ask_ten_times, args=(t,)) for t in [good] * 4 + [numpy.array([99])] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 60
    assert all(numpy.array_equal(answer, wanted) if right else answer == 500 for right, answer in answers)


def test_half_requests_and_what_is_no_http_leave_the_server_up(served, http):
    for sent in (
        b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: " + b"b" * 70_000 + b"\r\n\r\n",
        b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n" + b"{" * 1000,
        b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ):
        with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as connection:
            with contextlib.suppress(OSError):  # it was refused, and the connection closed, before all was sent
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
            try:
                response = connection.recv(65536)
            except ConnectionResetError:
                continue
            assert not response or response.split()[1] in (b"400", b"431", b"413", b"404"), response
    bomb = gzip.compress(bytes(10**8))
    response = http.post("/v2/models/digits/infer", content=bomb, headers={"Content-Encoding": "gzip"})
    assert response.status_code == 413 and "unpacked" in response.json()["error"]
    assert http.get("/v2/health/ready").status_code == 200


def test_the_metrics_count_what_was_asked(http):
    def counted():
        lines = http.get("/metrics").text.splitlines()
        return {name: float(value) for name, value in (x.rsplit(" ", 1) for x in lines if not x.startswith("#"))}

    before = counted()
    http.post("/v2/models/digits/infer", json=as_json(images(1)))
    http.post("/v2/models/digits/infer", json={})
    after = counted()
    version = int(after['serving_version{model="digits"}'])
    for status in (200, 400):
        name = f'serving_requests_total{{model="digits",version="{version}",status="{status}"}}'
        assert after[name] == before.get(name, 0) + 1
    assert after["serving_workers"] == 2 and after["serving_queue_length"] == 0


def test_a_version_that_is_worse_or_damaged_or_other_than_exported_is_not_served(models, served, client):
    for _ in range(2):  # the second is judged by the first one's labelled examples, and its own judge the next
        best = export_digits(models, seed=1, labelled=_labelled(1)).number
        _served_is(client, best)
    worse = export_digits(models, seed=77).number
    served.wait_for(rf"digits version {worse} is refused, version {best} stays: its accuracy")
    half = models / "digits" / str(worse + 1)
    half.mkdir()
    served.wait_for(rf"digits version {worse + 1} is refused, .*it is not complete")
    for path in (models / "digits" / str(best)).iterdir():  # a copy under way: the list last
        if path.name != "SHA256SUMS":
            (half / path.name).write_bytes(path.read_bytes())
    (half / "SHA256SUMS").write_bytes((models / "digits" / str(best) / "SHA256SUMS").read_bytes())
    _served_is(client, worse + 1)


def test_a_word_in_a_file_rolls_back_and_forward_again(models, served, client):
    newest = int(client.metadata("digits")["parameters"]["version"])
    back = pin(models, "digits", 1)
    _served_is(client, 1)
    answer = client.infer("digits", {"image": images(1).numpy()})
    assert answer.version == back == 1
    pin(models, "digits", "newest")
    _served_is(client, newest)


def _labelled(seed):
    rows = images(40, seed=5)
    with torch.no_grad():
        return rows, Digits(seed)(rows).argmax(1)


def _served_is(client, number):
    until(lambda: client.metadata("digits")["parameters"]["version"] == str(number), f"version {number}")
