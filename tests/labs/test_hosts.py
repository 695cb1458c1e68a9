"""What is no request changes nothing at the host of a lab: it is answered with an error, or not at all."""

import socket
import sys
from pathlib import Path

import pytest

from course.checks.discovery import load_part

LABS = Path(__file__).parents[2] / "labs"
ANYWHERE = (b"nonsense\n", b"[]\n", b'{"do": "seen"}\n', b"[" * 900 + b"\n", b"x" * 5000 + b"\n")
#: lab -> (the host's file, its plan, what it has seen when nothing was asked, requests with an illegal value)
HOSTS = {
    "lab06_async_regression": (
        "store_host",
        {"rate": 0.25, "every": 2, "deaths": [], "down": 0.0},
        ([], 0, [0.0, 0.0]),
        (
            b'{"do": "push", "gradient": [1]}\n',
            b'{"do": "push", "gradient": ["a", "b"]}\n',
            b'{"do": "push", "gradient": 5}\n',
            b'{"do": "pull\xff"}\n',
            b'{"do": "push", "gradient": [1, 1' + b"0" * 500 + b"]}\n",
        ),
    ),
    "lab07_replicas": (
        "task_host",
        {"tasks": 1, "together": False},
        [],
        (
            b'{"task": 0, "left": [1, 1], "right": [1]}\n',
            b'{"task": 0, "left": [100000, 100000], "right": [1, 1]}\n',
            b'{"task": 0, "left": [-1, 1], "right": [1, 1]}\n',
            b'{"task": 0, "left": [1, 1], "right": [1, 1]}\n12345678',
            b'{"task": 0, "left": [1, 2], "right": [1, 2]}\n' + bytes(32),
        ),
    ),
    "lab08_serving": (
        "server_host",
        {"start": 100.0, "script": [[200, 0.1, None]]},
        [],
        (
            b'{"do": "sleep", "seconds": -1}\n',
            b'{"do": "sleep", "seconds": NaN}\n',
            b'{"do": "sleep", "seconds": 1e999}\n',
            b'{"do": "send", "seconds": "soon"}\n',
        ),
    ),
}


def host_of(lab):
    file, plan, *_ = HOSTS[lab]
    return load_part(LABS / lab, file).Host(plan)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="marks are made on Linux")
@pytest.mark.parametrize(("lab", "sent"), [(lab, sent) for lab in HOSTS for sent in (*ANYWHERE, *HOSTS[lab][-1])])
def test_what_is_no_request_gets_no_answer_and_changes_no_record(lab, sent):
    host = host_of(lab)
    try:
        with socket.create_connection(("127.0.0.1", host.address), timeout=10) as link:
            link.sendall(sent)
            link.shutdown(socket.SHUT_WR)
            answer = link.recv(1000)
        assert answer == b"" if lab == "lab07_replicas" else b"error" in answer
    finally:
        seen = host.seen()
    assert seen == HOSTS[lab][2]
