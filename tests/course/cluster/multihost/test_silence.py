"""Tasks by hand that are frozen or killed: off the list in time, and back on it where they can be."""

import os
import signal

import pytest

from course.cluster import connect
from course.cluster.multihost import heartbeat
from tests.helpers.shells import classic, eventually

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot freeze a process")


def test_a_frozen_worker_leaves_the_list_in_three_seconds_and_joins_again_when_it_wakes(tmp_path, free_ports):
    with classic(tmp_path, free_ports(3)) as (members, spec, certificate, (ps, first, second)):
        with connect(spec, security=certificate) as cluster:
            with cluster.at("/job:worker/task:0"):
                pinned = cluster.executor.submit(os.getpid)
                assert pinned.result(timeout=60) == first.pid
            os.kill(first.pid, signal.SIGSTOP)
            with cluster.at("/job:worker/task:0"):
                waiting = cluster.executor.submit(os.getpid)
            said = ps.says("/job:worker/task:0 has been silent for ")
            assert (
                heartbeat.TASK_SILENCE <= float(said.split("for ")[1].split(" s")[0]) < 10
            )  # three on a machine that is free
            eventually(lambda: cluster.missing() == ["/job:worker/task:0"])
            assert repr(cluster) == "Cluster(ps=1, worker=1; missing: /job:worker/task:0)"
            assert "/job:worker/task:0: missing" in cluster._repr_mimebundle_()["text/html"]
            with pytest.raises(ValueError, match="it is in the spec, but has not joined or has left. Start it by"):
                cluster.at("/job:worker/task:0")
            os.kill(first.pid, signal.SIGCONT)
            first.says("listens at", times=2)
            assert waiting.result(timeout=60) == first.pid  # what was pinned to it waited for it, and went on
            assert cluster.missing() == []
        # one that a kill takes away is off the list at once
        second.signal(signal.SIGKILL)
        assert second.ends() == -signal.SIGKILL
        with pytest.raises(TimeoutError, match="/job:worker/task:1 had not joined after 1 s. Start each"):
            connect(spec, security=certificate, timeout=1)
        with connect(spec, security=certificate, wait=False) as cluster:
            assert cluster.missing() == ["/job:worker/task:1"] == spec.missing(cluster.tasks)
            second = members.start("worker", 1)  # and may come back at any time
            eventually(lambda: not cluster.missing())
