"""A server ends well when it is told to, and leaves nothing behind when it is killed; who may ask it, and where."""

import datetime
import logging
import os
import signal
import socket
import threading

import grpc
import numpy
import psutil
import pytest
import torch
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from modelserver import Client, ServingError, export
from modelserver.commands import serve
from modelserver.tests.grpc_calls import called, infer_message, output
from modelserver.tests.served import PATIENCE, serving, until


class Doubled(torch.nn.Module):
    def forward(self, x):
        return 2 * x


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("ending") / "models"
    export(Doubled(), torch.rand(2, 3), directory, name="m")
    return directory


MESSAGE = infer_message("m", "x", numpy.ones((1, 3), "f4"))


def ask(client):
    return client.infer("m", {"x": numpy.ones((1, 3), "f4")})["output"].tolist()


def write_certificate(path):
    """Write a certificate that vouches for itself, and its key, to a file that only its owner may read."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "modelserver")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.touch(mode=0o600)
    path.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM) + private)


@pytest.mark.long
@pytest.mark.faults
def test_over_tls_with_a_token_and_what_is_under_way_is_answered_at_the_end(models, tmp_path):
    write_certificate(tmp_path / "s.pem")
    (tmp_path / "token").write_text("a-long-word\n")
    flags = ("--workers", 1, "--tls", tmp_path / "s.pem", "--token-file", tmp_path / "token")
    flags += ("--device", "/gpu:1", "--simulated-gpus", 2, "--verbose", "--grpc-port", 0, "--model-seconds", 100)
    with serving(models, *flags) as served:
        url = served.url.replace("http:", "https:")
        with Client(url, deadline=PATIENCE) as stranger, pytest.raises(ServingError, match="CERTIFICATE_VERIFY_FAILED"):
            ask(stranger)
        with Client(url, certificate=str(tmp_path / "s.pem")) as nobody, pytest.raises(ServingError) as refused:
            ask(nobody)
        assert refused.value.status == 401
        with Client(url, "a-long-word", str(tmp_path / "s.pem"), PATIENCE) as client:
            answer = client.infer("m", {"x": numpy.ones((1, 3), "f4")})
            assert answer["output"].tolist() == [[2, 2, 2]] and answer.version == 1
            served.wait_for(rf"request {answer.request_id} POST '/v2/models/m/infer' version 1: 200 in")
            (worker,) = served.workers()
            credentials = grpc.ssl_channel_credentials((tmp_path / "s.pem").read_bytes())
            names = [("grpc.ssl_target_name_override", "modelserver")]
            channel = grpc.secure_channel(served.grpc, credentials, names)
            assert called(channel, "ServerLive").live
            with pytest.raises(grpc.RpcError, match="give 'Bearer TOKEN'") as refused:
                called(channel, "ModelInfer", MESSAGE)
            assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
            worker.suspend()
            answers = []

            def ask_over_grpc():
                token = [("authorization", "Bearer a-long-word")]
                answers.append(output(called(channel, "ModelInfer", MESSAGE, metadata=token)).tolist())

            asking = [threading.Thread(target=ask_over_grpc)]
            asking.append(threading.Thread(target=lambda: answers.append(ask(client))))
            for thread, under_way in zip(
                asking, (b"serving_batch_rows_count{} 2", b"serving_queue_length 1"), strict=True
            ):
                thread.start()
                until(lambda under_way=under_way: under_way in _metrics(url, tmp_path))
            served.process.send_signal(signal.SIGINT)
            until(lambda: not _listens(served.port))
            worker.resume()
            for thread in asking:
                thread.join()
            channel.close()
        assert answers == [[[2, 2, 2]]] * 2
        served.process.wait(PATIENCE)
    assert not worker.is_running()


@pytest.mark.faults
@pytest.mark.long
def test_workers_end_with_a_front_process_that_is_killed_and_a_client_finds_the_next(models, free_ports):
    (port,) = free_ports(1)  # one that nobody gets between the two servers
    with serving(models, "--workers", 1, port=port, ends_well=False) as first:
        (worker,) = first.workers()
        with Client(first.url, deadline=PATIENCE) as client:
            assert ask(client) == [[2, 2, 2]]
            worker.suspend()  # inside a model, as it were: it reads nothing
            answers = []
            asking = threading.Thread(target=lambda: answers.append(ask(client)))
            asking.start()
            first.process.kill()
            psutil.wait_procs([worker], PATIENCE)
            assert not worker.is_running()
            with serving(models, "--workers", 1, port=port):
                asking.join()
        assert answers == [[[2, 2, 2]]]


@pytest.fixture
def logger_as_before():
    """The command sets up the logger of this process: afterwards it is as it was."""
    logger = logging.getLogger("modelserver")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:], logger.propagate = handlers, propagate
    logger.setLevel(level)


def run(*arguments):
    return CliRunner().invoke(serve, [str(argument) for argument in arguments])


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.usefixtures("logger_as_before")
def test_what_cannot_be_served_is_said_before_anything_is_loaded(models, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(models, "--port", port)
        assert done.exit_code == 1 and f"--port {port + 1}" in done.output
    done = run(tmp_path / "none")
    assert done.exit_code == 1 and "there is no such folder" in done.output
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    done = run(open_to_all)
    assert done.exit_code == 1 and "chmod go-w" in done.output
    done = run(models, "--host", "0.0.0.0")
    assert done.exit_code == 2 and "--tls" in done.output
    done = run(models, "--largest", 0)
    assert done.exit_code == 2 and "--largest" in done.output
    (tmp_path / "s.pem").write_text("no certificate")
    for mode, reason in ((0o644, "chmod 600"), (0o600, "a certificate and its private key")):
        (tmp_path / "s.pem").chmod(mode)
        done = run(models, "--tls", tmp_path / "s.pem")
        assert done.exit_code == 2 and reason in done.output


def _metrics(url, folder):
    with Client(url, "a-long-word", str(folder / "s.pem"), PATIENCE) as client:
        return client.text("/metrics").encode()


def _listens(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
