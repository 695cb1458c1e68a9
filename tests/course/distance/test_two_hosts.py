"""A slow line of ours between two hosts (network namespaces); `make distance` trains over it."""

import subprocess
import sys

import pytest

from tests.helpers.namespaces import missing, two_hosts

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"NOT TESTED HERE, two hosts can't be made: {missing()}")

SERVER = """
import socket, sys
with socket.create_server((sys.argv[1], 2222)) as listening:
    print("listens", flush=True)
    caller, (host, _) = listening.accept()
    with caller:
        caller.sendall(f"{host} said {caller.recv(100).decode()}".encode())
"""
CLIENT = """
import socket, sys, time
from course.distance import Link
with Link(0.025) as link, socket.create_connection(link.to((sys.argv[1], 2222)), 60) as line:
    began = time.monotonic()
    line.sendall(b"hello")
    print(line.recv(100).decode(), "after two ways:", time.monotonic() - began >= 0.050)
"""


def test_an_answer_from_another_host_comes_two_delays_later_by_the_relay_beside_the_client():
    with two_hosts() as (one, other):
        told = {"stdout": subprocess.PIPE, "text": True}
        with one.start(sys.executable, "-c", SERVER, one.address, **told) as server:
            assert server.stdout.readline() == "listens\n"
            with other.start(sys.executable, "-c", CLIENT, one.address, **told) as client:
                said, _ = client.communicate(timeout=100)
        assert said == f"{other.address} said hello after two ways: True\n"
        assert server.returncode == client.returncode == 0
