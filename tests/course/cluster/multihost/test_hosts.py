"""A cluster over two hosts (network namespaces): they find each other, also after the cable was pulled."""

import subprocess
import sys
import time

import pytest

from course.cluster.certificates import write_certificate
from tests.helpers.namespaces import missing, two_hosts
from tests.helpers.shells import Members

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(missing()), reason=str(missing())),
]

CLIENT = """
import os, socket, sys
from course.cluster import ClusterSpec, connect
spec = ClusterSpec.from_flags(ps_hosts=sys.argv[1], worker_hosts=sys.argv[2])
with connect(spec, security=sys.argv[3]) as cluster, cluster.at("/job:worker/task:0"):
    print(cluster.executor.submit(os.getpid).result(timeout=60))
    print(cluster.spec.task_address("worker", 0), cluster.missing())
"""


def inside(host):
    return ("ip", "netns", "exec", host.name)


@pytest.fixture
def hosts():
    with two_hosts() as pair:
        yield pair


@pytest.fixture
def certificate(tmp_path):
    write_certificate(tmp_path / "cluster.pem")
    return tmp_path / "cluster.pem"


def test_tasks_on_two_hosts_work_together_and_find_each_other_again_after_a_partition(hosts, certificate):
    first, second = hosts
    addresses = f"{first.address}:2222", f"{second.address}:2223"
    flags = ["--ps-hosts", addresses[0], "--worker-hosts", addresses[1], "--certificate", certificate]
    with Members(*flags) as members:
        ps, worker = members.start("ps", prefix=inside(first)), members.start("worker", prefix=inside(second))
        ps.says(f"the scheduler listens; session target tls://{first.address}:3222")
        worker.says(f"/job:worker/task:0 listens at tls://{addresses[1]}; session target tls://{first.address}:3222")
        command = [*inside(first), sys.executable, "-c", CLIENT, *addresses, str(certificate)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.stdout == f"{worker.pid}\n{addresses[1]} []\n", done.stderr

        second.cut()
        ps.says("/job:worker/task:0 has been silent for ")
        worker.says("has not heard from its scheduler for 8 s; it tries for 60 s to join again")
        second.mend()
        worker.says("listens at", times=2)


def test_what_cannot_be_reached_or_is_not_here_is_told_at_once(hosts, certificate):
    first, second = hosts
    shared = ["--worker-hosts", f"{second.address}:2223", "--certificate", certificate]
    with Members() as members:
        absent = members.start("worker", shared=["--ps-hosts", "10.77.0.99:2222", *shared], prefix=inside(second))
        wrong = members.start("worker", shared=["--ps-hosts", f"{first.address}:2222", *shared], prefix=inside(first))
        outside = members.start("worker", shared=["--ps-hosts", "198.51.100.7:2222", *shared], prefix=inside(second))
        assert [member.ends() for member in (absent, wrong, outside)] == [1, 1, 1]
    assert "the host 10.77.0.99 " in absent.text and "Is it on, is the address right" in absent.text
    assert f"{second.address} is no address of this machine. Start the task on the host that the spec" in wrong.text
    assert "the host 198.51.100.7 can't be reached (Network is unreachable)" in outside.text


def test_a_host_that_drops_every_packet_is_told_in_time(hosts, certificate):
    first, second = hosts
    first.cut()
    began = time.monotonic()
    with Members() as members:
        ps, worker = f"{first.address}:2222", "127.0.0.1:2223"
        flags = ["--ps-hosts", ps, "--worker-hosts", worker, "--certificate", certificate]
        silent = members.start("worker", shared=flags, prefix=inside(second))
        assert silent.ends() == 1
    assert f"the host {first.address} " in silent.text
    assert time.monotonic() - began < 60  # its patience; five are its own, the rest are a busy machine's Python
