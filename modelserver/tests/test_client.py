"""The client against servers that are slow on purpose: its deadline holds for the whole answer, byte by byte."""

import socket
import threading

import pytest

from modelserver import Client, ServingError

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Slow: "
PIECES = 600  # of 50 ms each, half a minute


@pytest.mark.parametrize("slow", ["head", "body"])
def test_a_server_that_dribbles_its_answer_is_left_at_the_deadline(slow):
    began, client_gone = threading.Event(), threading.Event()

    def dribble():
        caller, _ = listening.accept()
        with caller:
            caller.recv(4096)
            caller.sendall(HEAD if slow == "head" else HEAD.replace(b": 2", b": 600") + b"\r\n\r\n")
            for _ in range(PIECES):
                try:
                    caller.sendall(b" ")
                except OSError:
                    client_gone.set()
                    return
                began.set()
                client_gone.wait(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=dribble)
        server.start()
        with Client(f"http://127.0.0.1:{listening.getsockname()[1]}", deadline=0.5) as client:
            with pytest.raises(ServingError, match=r"no answer in 0\.5 s, asked 1 times; TimeoutError"):
                client.text("/metrics")
            server.join(20)
        assert began.is_set() and client_gone.is_set()
