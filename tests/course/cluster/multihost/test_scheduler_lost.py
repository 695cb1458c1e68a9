"""A scheduler that is killed or frozen: its tasks find a successor or end, clients hear of it, and nothing hangs."""

import os
import signal
import time

import pytest

from course.cluster import connect
from tests.helpers.shells import classic, eventually

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot freeze a process"),
]


# A client that is closed while it calls a scheduler that is gone leaves that call's socket to Python: Tornado's way.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning")
def test_tasks_of_a_killed_scheduler_find_its_successor_or_end_with_an_error(tmp_path, free_ports):
    with classic(tmp_path, free_ports(3), (200, 1)) as (members, spec, certificate, (ps, first, second)):
        with connect(spec, security=certificate) as cluster:
            ps.signal(signal.SIGKILL)
            assert second.ends() == 1
            assert "within 1 s" in second.lines[-1] and "Is the scheduler up" in second.lines[-1]
            with pytest.raises(RuntimeError, match="has not answered for|connection to the scheduler was lost"):
                cluster.executor.submit(os.getpid).result(timeout=60)
        members.start("ps")
        first.says("listens at", times=2)
        with connect(spec, security=certificate, wait=False) as cluster:
            eventually(lambda: cluster.missing() == ["/job:worker/task:1"])
            with cluster.at("/job:worker/task:0"):
                assert cluster.executor.submit(os.getpid).result(timeout=60) == first.pid


def test_a_frozen_scheduler_is_noticed_by_tasks_and_clients_and_nothing_hangs(tmp_path, free_ports):
    with classic(tmp_path, free_ports(3), (1, 1)) as (members, spec, certificate, (ps, first, second)):
        with connect(spec, security=certificate) as cluster:
            with cluster.at("/job:worker/task:0"):
                ours, theirs = cluster.executor.submit(time.sleep, 60), cluster.client.submit(time.sleep, 61)
            time.sleep(0.5)
            os.kill(ps.pid, signal.SIGSTOP)
            client, began = cluster.client, time.monotonic()
            with pytest.raises(RuntimeError, match="has not answered for 8 s; connect again"):
                ours.result(timeout=30)
            with pytest.raises(Exception, match="has not answered for"):  # Dask's own error, of its own class
                theirs.result(timeout=60)
            assert time.monotonic() - began < 45  # ten on a machine that is free; the function alone takes sixty
            for late in (lambda: cluster.client, lambda: client.submit(os.getpid).result(timeout=60)):
                with pytest.raises(Exception, match="has not answered|closed|cancelled"):
                    late()
        for worker in (first, second):
            worker.says("has not heard from its scheduler for 8 s; it tries for 1 s to join again")
            assert worker.ends() == 1
        with pytest.raises(TimeoutError, match="no scheduler answered within 1 s"):
            connect(spec, security=certificate, timeout=1)
