"""Two namespaces are two hosts: they reach each other until the cable is pulled, and leave nothing behind."""

import subprocess
import sys

import pytest

from tests.helpers.namespaces import missing, two_hosts

pytestmark = [pytest.mark.faults, pytest.mark.skipif(bool(missing()), reason=str(missing()))]

LISTEN = (
    "import socket, sys; s = socket.create_server((sys.argv[1], 5000)); print('up', flush=True)\nwhile 1: s.accept()"
)
REACH = "import socket, sys; socket.create_connection((sys.argv[1], 5000), timeout=float(sys.argv[2]))"


def reaches(host, address, seconds=30):
    return host.start(sys.executable, "-c", REACH, address, str(seconds), stderr=subprocess.DEVNULL).wait(120) == 0


def test_two_hosts_reach_each_other_until_the_cable_is_pulled_and_again_when_it_is_mended():
    with two_hosts() as (one, other):
        with one.start(sys.executable, "-c", LISTEN, one.address, stdout=subprocess.PIPE) as listening:
            assert listening.stdout.readline() == b"up\n"
            assert reaches(other, one.address)
            one.cut()
            assert not reaches(other, one.address, 0.5)
            one.mend()
            assert reaches(other, one.address)
            listening.kill()


def test_nothing_is_left_of_the_hosts_though_something_ran_there():
    with two_hosts() as (one, other):
        running = other.start("sleep", "1000")
        names = {one.name, other.name}
    assert running.wait(60) != 0
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert not any(name in listed for name in names)
