"""A process of a cluster that may open no more files: it says so, pauses between two tries, and then goes on."""

import os
import socket
from contextlib import ExitStack

import pytest

from course.cluster import ClusterSpec, connect
from tests.helpers.shells import Members

resource = pytest.importorskip("resource", reason="Windows has no limit on open files to lower")
pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process's files")


@pytest.mark.long
def test_a_scheduler_and_its_task_that_have_no_files_left_say_so_and_go_on_when_they_have(free_ports):
    port, other = [port for port in free_ports(9) if port < 60000][:2]
    hosts = [f"127.0.0.1:{port}", f"127.0.0.1:{other}"]
    with Members("--ps-hosts", hosts[0], "--worker-hosts", hosts[1], "--insecure") as members, ExitStack() as held:
        ps = members.start("ps")
        ps.says("listens at")
        limits = resource.prlimit(ps.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(ps.pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{ps.pid}/fd")) + 4, limits[1]))
        for _ in range(20):
            held.enter_context(socket.create_connection(("127.0.0.1", port)))
        ps.says("can't take a connection")
        lines_so_far = len(ps.lines)
        resource.prlimit(ps.pid, resource.RLIMIT_NOFILE, limits)
        spec = ClusterSpec.from_flags(ps_hosts=hosts[0], worker_hosts=hosts[1])
        with connect(spec, insecure=True, wait=False) as cluster, cluster.at("/job:ps/task:0"):
            assert cluster.executor.submit(os.getpid).result(timeout=60) == ps.pid
    assert "Too many open files" in ps.text and "Traceback" not in ps.text
    assert lines_so_far < 8, "it is not said at each try"
