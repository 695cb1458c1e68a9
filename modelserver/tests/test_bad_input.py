"""What bad input gets over real sockets: the protocol's error, and the next step; the server stays up."""

import json
import socket
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy
import pytest
import torch

from modelserver import Client, ServingError
from modelserver.tests.served import PATIENCE, export_digits, serving, until
from modelserver.tests.versions import crafted

IMAGE = {"name": "image", "shape": [1, 784], "datatype": "FP32"}
ROW = torch.zeros(1, 784).numpy()
INFER = "/v2/models/digits/infer"
SLOW = 2.0  # seconds for a request to come, here


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bad") / "models"
    export_digits(directory)
    return directory


@pytest.fixture(scope="module")
def served(models):
    flags = ("--workers", 1, "--largest", 32, "--queue", 3, "--model-seconds", 100)
    with serving(models, *flags, deadlines={"REQUEST_COMES": SLOW, "CONNECTIONS_LOOKED_AT_EVERY": 0.1}) as server:
        yield server


@pytest.fixture(autouse=True)
def it_stays_up_and_holds_nothing(served):
    workers = [worker.pid for worker in served.workers()]
    yield
    with Client(served.url, deadline=PATIENCE) as client:
        assert client.infer("digits", {"image": ROW})["scores"].shape == (1, 10)
        metrics = client.text("/metrics")
    assert (
        "serving_queue_length 0\n" in metrics and "serving_queue_bytes 0\n" in metrics and 'status="500"' not in metrics
    )
    assert [worker.pid for worker in served.workers()] == workers


class Caller:
    """A connection on which bytes are sent as they are, and answers read as (status, {header: value}, JSON)."""

    def __init__(self, served):
        self._socket = socket.create_connection(("127.0.0.1", served.port), PATIENCE)
        self.send, self.close, self._file = self._socket.sendall, self._socket.close, self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self._socket.close()

    def post(self, body=b"", path=INFER, length=None, **headers):
        length = len(body) if length is None else length
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{more}\r\n"
        self.send(head.encode() + body)

    def answer(self):
        """Return the next answer; None where the connection was closed instead."""
        try:
            line = self._file.readline()
            if not line:
                return None
            headers = {}
            while (header := self._file.readline()) != b"\r\n":
                name, _, value = header.decode().partition(":")
                headers[name.lower()] = value.strip()
            return int(line.split()[1]), headers, json.loads(self._file.read(int(headers["content-length"])))
        except ConnectionResetError:
            return None


def reply(served, message, binary=b"", size=None, path=INFER, **headers):
    """Return status and error of a request: JSON `message`, then `binary`; `size`: what the header states of it."""
    head = message if isinstance(message, bytes) else json.dumps(message).encode()
    if binary or size is not None:
        headers["Inference_Header_Content_Length"] = len(head) if size is None else size
    with Caller(served) as caller:
        caller.post(head + binary, path, **headers)
        status, headers, body = caller.answer()
        assert status == 200 or set(body) == {"error"} and headers["x-request-id"]
        assert path != INFER or headers["x-model-version"] == "1"
        return status, body.get("error", "")


def inputs(**more):
    return {"inputs": [IMAGE | more]}


def binary(size):
    return inputs(parameters={"binary_data_size": size})


ZEROS = [0.0] * 784


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (
            (inputs(shape=[-1, 784], data=ZEROS),),
            "input image: shape [-1, 784]; the model takes [rows, 784], rows from 1 to",
        ),
        ((inputs(shape=[0, 784], data=[]),), "rows from 1 to 32"),
        ((inputs(shape=[33, 784], data=ZEROS * 33),), "rows from 1 to 32"),
        ((inputs(shape=[], data=ZEROS),), "input image: shape []; the model takes [rows, 784]"),
        ((inputs(data=[]),), "input image: data has 0 elements; shape [1, 784] is 784"),
        ((inputs(data=[ZEROS, ZEROS]),), "a list of 1 was expected, and there is a list of 2"),
        ((inputs(data=[None] * 784),), "input image: data has None; FP32 takes numbers"),
        ((json.dumps(inputs(data=[float("nan")] * 784)).encode(),), "NaN and infinity are no JSON"),
        ((inputs(data=[1e39] * 784),), "element 0 (row-major) is inf; give finite numbers that FP32 can hold"),
        ((inputs(data=ZEROS, datatype="FP64"),), "input image: datatype 'FP64'; the model takes FP32"),
        ((inputs(data=ZEROS, name="picture"),), "inputs: 'picture'; the model takes image"),
        (({"inputs": []},), "inputs: image is missing; the model takes image"),
        ((b"[]",), 'the body is no JSON object; it begins with {"inputs"'),
        ((b"{",), "the body is no JSON"),
        ((b"[" * 100_000,), "the body is no JSON"),
        ((binary(3136), ROW.tobytes()[:-1]), "binary_data_size 3136, and 3135 bytes are left"),
        ((binary(3136), ROW.tobytes() + b"1"), "3137 bytes of binary data; binary_data_size says 3136"),
        ((binary(3132), ROW.tobytes()), "binary_data_size 3132; 1 rows of FP32 are 3136 bytes"),
        ((binary(-1), ROW.tobytes()), "binary_data_size is -1; give a whole number, 0 or more"),
        ((binary(10**15), ROW.tobytes()), "1 rows of FP32 are 3136 bytes"),
        ((binary(3136), ROW.tobytes(), 10**9), "header Inference-Header-Content-Length: 1000000000, and the body has"),
        ((binary(3136), ROW.tobytes(), -5), "header Inference-Header-Content-Length: '-5'; give a whole number"),
        ((binary(3136), numpy.full(784, numpy.nan, "f4").tobytes()), "element 0 (row-major) is nan"),
    ],
    ids=range(23),
)
def test_a_request_that_is_wrong_is_told_the_argument_and_what_is_legal(served, request_, reason):
    status, error = reply(served, *request_)
    assert status == 400 and reason in error


def test_what_is_not_there_is_told_with_what_is(served):
    good = inputs(data=ZEROS)
    assert reply(served, good)[0] == 200
    for path, reason in (
        ("/v2/models/digits/versions/7/infer", "these are: 1"),
        ("/v2/models/x/infer", "there are: digits"),
    ):
        status, error = reply(served, good, path=path)
        assert status == 404 and reason in error
    status, error = reply(served, good, Content_Encoding="br")
    assert status == 415 and "give gzip, deflate or none" in error


def _peak(pid):
    """Return the most memory that a process ever had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1e3


@pytest.mark.skipif(sys.platform != "linux", reason="/proc knows a process's largest memory")
def test_bodies_of_thirty_megabytes_are_refused_to_whoever_sends_them_whole_and_memory_is_flat(served):
    before, piece, pieces = _peak(served.process.pid), b"[0.125, " * (1 << 17), 30  # in `SLOW`, on a busy machine too
    for binary_part in (False, True):
        headers = {"Inference_Header_Content_Length": 100} if binary_part else {}
        with Caller(served) as caller:
            caller.post(length=pieces * len(piece), **headers)
            for _ in range(pieces):
                caller.send(piece)
            status, _, content = caller.answer()
            assert status == 413 and "Send fewer rows at a time" in content["error"]
            caller.post(json.dumps(inputs(data=ZEROS)).encode())  # the connection goes on
            assert caller.answer()[0] == 200
    with Caller(served) as caller:  # of a size that nobody says
        caller.send(f"POST {INFER} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(pieces):
            caller.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        caller.send(b"0\r\n\r\n")
        assert caller.answer()[0] == 413
    with Caller(served) as caller:  # who waits for a word first is spared the sending
        caller.post(length=10**9, Expect="100-continue")
        status, headers, _ = caller.answer()
        assert (status, headers["connection"]) == (413, "close") and caller.answer() is None
    assert _peak(served.process.pid) < before + 20


A = b"a" * (1 << 16)
GETS = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc knows a process's largest memory")
@pytest.mark.parametrize(
    "begins, goes_on",
    [
        pytest.param(GETS + b"X-Endless: ", A, id="a header"),
        pytest.param(GETS, A, id="a header's name"),
        pytest.param(GETS, b"a:\r\n" * (1 << 14), id="headers that are empty"),
        pytest.param(b"GET /v2/", A, id="an address"),
        pytest.param(CHUNKED + b"1\r\n{\r\n0\r\nX-Endless: ", A, id="a trailer"),
        pytest.param(CHUNKED + b"1\r\n{\r\n0\r\n", b"a:\r\n" * (1 << 14), id="trailers that are empty"),
        pytest.param(CHUNKED + b"1;", A, id="a chunk's extension"),
    ],
)
def test_heads_and_trailers_that_do_not_end_get_431_soon_and_fill_no_memory(served, begins, goes_on):
    before = _peak(served.process.pid)
    with ExitStack() as stack:
        callers = [stack.enter_context(Caller(served)) for _ in range(20)]
        for caller in callers:
            caller.send(begins)
        for caller in callers:
            with suppress(OSError):  # closed before all of it was sent
                for _ in range(200):
                    caller.send(goes_on)
                pytest.fail("13 MB of a head were taken")
            answer = caller.answer()
            assert answer is None or answer[0] == 431 and "larger than 65536 bytes" in answer[2]["error"]
    assert _peak(served.process.pid) < before + 20


def test_a_trailer_is_no_header(served):
    with Caller(served) as caller:
        body = json.dumps(inputs(data=ZEROS)).encode()
        caller.send(CHUNKED + b"%x\r\n%b\r\n0\r\nHost: elsewhere\r\nContent-Encoding: br\r\n\r\n" % (len(body), body))
        assert caller.answer()[0] == 200


@pytest.mark.parametrize(
    "headers, reason",
    [
        (b"", "header Host: it is missing"),
        (b"Host: localhost\r\nHost: localhost\r\n", "header Host: it is there twice"),
        (b"Host: localhost\r\nAuthorization: a\r\nauthorization: b\r\n", "header Authorization: it is there twice"),
    ],
)
def test_a_header_that_must_be_there_once_is(served, headers, reason):
    with Caller(served) as caller:
        caller.send(b"GET /v2/health/live HTTP/1.1\r\n" + headers + b"\r\n")
        status, _, content = caller.answer()
        assert status == 400 and reason in content["error"]
        caller.send(GETS + b"Accept: a\r\nAccept: b\r\n\r\n")
        assert caller.answer()[0] == 200


def test_slow_callers_are_closed_after_a_while_and_others_are_answered_meanwhile(served):
    whole = json.dumps(inputs(data=ZEROS)).encode()
    with Caller(served) as silent, Caller(served) as head, Caller(served) as body, Caller(served) as dribbled:
        began = time.monotonic()
        head.send(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: localhost\r\nX-Never: ")
        body.post(whole[:-1], length=len(whole))
        dribbled.post(length=len(whole))
        refused = Caller(served)
        refused.post(length=10**8)
        stop = threading.Event()

        def dribble():
            for at in range(len(whole)):
                if stop.wait(0.05):
                    return
                try:
                    dribbled.send(whole[at : at + 1])
                    refused.send(b"0")
                except OSError:
                    return

        dribbling = threading.Thread(target=dribble)
        dribbling.start()
        with Client(served.url, deadline=PATIENCE) as client:
            assert client.infer("digits", {"image": ROW}).attempts == 1
        for caller in (silent, head, body, dribbled):
            status, headers, content = caller.answer()
            assert status == 408 and headers["connection"] == "close" and "send it faster" in content["error"]
            assert caller.answer() is None
        with refused:  # has its answer, and no second one
            assert refused.answer()[0] == 413 and refused.answer() is None
        assert SLOW - 0.1 < time.monotonic() - began
        stop.set()
        dribbling.join()


GET = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc knows a process's largest memory")
@pytest.mark.parametrize(("at_once", "pause"), [(10, 0.002), (5000, 0)])
def test_answers_that_nobody_reads_are_given_up_and_fill_no_memory(served, at_once, pause):
    before, ends = _peak(served.process.pid), time.monotonic() + PATIENCE
    with Caller(served) as caller, pytest.raises(OSError):
        while time.monotonic() < ends:
            caller.send(GET * at_once)
            time.sleep(pause)
    assert _peak(served.process.pid) < before + 30


def test_requests_that_are_sent_ahead_are_answered_in_order(served):
    with Caller(served) as caller:
        caller.send(GET * 10 + GET.replace(b"openapi.json", b"nothing"))
        assert [caller.answer()[0] for _ in range(11)] == [200] * 10 + [404]


def test_a_full_queue_refuses_and_answers_again_afterwards_and_who_left_takes_no_place(served):
    (worker,) = served.workers()
    with Client(served.url, deadline=PATIENCE) as client:

        def queued():
            lines = client.text("/metrics").splitlines()
            return int(next(line.split()[1] for line in lines if line.startswith("serving_queue_length")))

        def is_queued(count):
            until(lambda: queued() == count, f"queue of {count}")

        def rows():
            lines = client.text("/metrics").splitlines()
            return int(float(next(line.split()[1] for line in lines if line.startswith("serving_batch_rows_sum"))))

        before, callers, good = rows(), [], json.dumps(inputs(data=ZEROS)).encode()

        def posts():  # at once: a connection that says nothing for `SLOW` is closed
            callers.append(Caller(served))
            callers[-1].post(good)

        worker.suspend()
        try:
            posts()
            until(lambda: rows() > before, "batch with the worker")
            for count in (1, 2, 3):
                posts()
                is_queued(count)
            posts()
            status, headers, content = callers[4].answer()
            assert (
                status == 429 and headers["retry-after"] == "1" and "the queue is full: 3 requests" in content["error"]
            )
            for deadline in (0.5, 10.0):  # on a busy machine the first may end before a second attempt
                with Client(served.url, deadline=deadline) as hasty, pytest.raises(ServingError) as refused:
                    hasty.infer("digits", {"image": ROW})
                if refused.value.status == 429 and refused.value.attempts > 1:
                    break
            assert refused.value.status == 429 and refused.value.attempts > 1
            callers[3].__exit__()
            is_queued(2)
            callers[4].post(good)
            is_queued(3)
        finally:
            worker.resume()
        assert [callers[at].answer()[0] for at in (0, 1, 2, 4)] == [200] * 4
        assert rows() == before + 4  # the one who left cost nothing
        for caller in callers:
            caller.__exit__()


def test_a_version_that_would_run_a_command_is_refused_before_it_is_loaded(models, served, tmp_path):
    mark, folder = tmp_path / "ran", models / "digits" / "2"
    aside = models / "digits" / ".aside"
    aside.mkdir(mode=0o755)
    for path in (models / "digits" / "1").iterdir():
        (aside / path.name).write_bytes(path.read_bytes())
    (aside / "program.pt2").write_bytes(crafted.weights((aside / "program.pt2").read_bytes(), mark))
    aside.rename(folder)
    served.wait_for(r"digits version 2 is refused, version 1 stays: .*program.pt2: its SHA-256 is not")
    assert not mark.exists()
