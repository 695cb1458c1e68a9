"""The containers' health check: well is who listens with the cluster's certificate, or answers 200; nobody else."""

import importlib.util
import socket
import ssl
import threading
from contextlib import ExitStack, contextmanager, suppress

import pytest

from course.cluster.certificates import write_certificate
from tests.deploy.docker.compose_file import FOLDER


@pytest.fixture
def health(tmp_path, monkeypatch):
    """The module, with a certificate of its own at the place of the cluster's."""
    spec = importlib.util.spec_from_file_location("health", FOLDER / "health.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    write_certificate(tmp_path / "cluster.pem")
    monkeypatch.setattr(module, "CERTIFICATE", str(tmp_path / "cluster.pem"))
    monkeypatch.setattr(module, "SECONDS", 60.0)  # of a busy machine
    return module


@contextmanager
def listening(certificate=None, answer=b""):
    """Within the `with`, somebody takes one connection, by TLS where there is a certificate; gives the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with suppress(OSError):
                with ExitStack() as held:
                    taken = held.enter_context(listener.accept()[0])
                    if certificate:
                        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificate)
                        context.load_cert_chain(certificate)
                        context.verify_mode = ssl.CERT_REQUIRED
                        taken = held.enter_context(context.wrap_socket(taken, server_side=True))
                    taken.recv(4096)
                    taken.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(60)


def test_a_task_with_the_clusters_certificate_is_well(health):
    with listening(health.CERTIFICATE) as port:
        assert health.main(f"tls://127.0.0.1:{port}") == 0


def test_a_task_with_another_certificate_and_one_that_is_gone_are_not(health, tmp_path, capsys):
    write_certificate(tmp_path / "other.pem")
    with listening(tmp_path / "other.pem") as port:
        assert health.main(f"tls://127.0.0.1:{port}") == 1
    assert "certificate verify failed" in capsys.readouterr().out
    assert health.main(f"tls://127.0.0.1:{port}") == 1
    assert "refused" in capsys.readouterr().out


@pytest.mark.parametrize("status, code", [("200 OK", 0), ("503 Service Unavailable", 1)])
def test_a_page_is_well_when_it_answers_200(health, status, code):
    with listening(answer=f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()) as port:
        assert health.main(f"http://127.0.0.1:{port}/api") == code
