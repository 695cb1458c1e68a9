"""Tasks by hand that are frozen or killed: off the list in time, and back on it where they can be."""

import os
import signal
import threading
from pathlib import Path

import pytest
import torch

from course.cluster import ClusterSpec, connect
from course.cluster.certificates import write_certificate
from course.cluster.multihost import heartbeat
from course.cluster.multihost.task_scheduler import PINNED_WORK_WAITS
from tests.helpers.shells import Members, classic, eventually

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot freeze a process")


@pytest.mark.long
def test_a_frozen_worker_leaves_the_list_in_three_seconds_and_joins_again_when_it_wakes(tmp_path, free_ports):
    with classic(tmp_path, free_ports(3)) as (members, spec, certificate, (ps, first, second)):
        with connect(spec, security=certificate) as cluster:
            with cluster.at("/job:worker/task:0"):
                pinned = cluster.executor.submit(os.getpid)
                assert pinned.result(timeout=60) == first.pid
            os.kill(first.pid, signal.SIGSTOP)
            with cluster.at("/job:worker/task:0"):
                waiting = cluster.executor.submit(os.getpid)
            outcome = ps.says("/job:worker/task:0 has been silent for ")
            assert (
                heartbeat.TASK_SILENCE <= float(outcome.split("for ")[1].split(" s")[0]) < 10
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
        with pytest.raises(TimeoutError, match="/job:worker/task:1 had not joined after 3 s. Start each"):
            connect(spec, security=certificate, timeout=3)
        with connect(spec, security=certificate, wait=False) as cluster:
            assert cluster.missing() == ["/job:worker/task:1"] == spec.missing(cluster.tasks)
            second = members.start("worker", 1)  # and may come back at any time
            eventually(lambda: not cluster.missing(), 120)


def work_on_a_gpu(folder):
    """Compute on cuda:0 until the file `enough` is there; leave a note of how that went."""
    folder, outcome, ops = Path(folder), "well", 0
    try:
        while not (folder / "enough").exists():
            torch.ones(2, device="cuda:0").sum().item()
            threading.Event().wait(0.01)
            ops += 1
            if ops == 1:
                (folder / f"begun {threading.get_ident()}").touch()
    except RuntimeError as error:
        outcome = f"{type(error).__name__}: {error}"
    (folder / f"ended {threading.get_ident()}").write_text(outcome)


@pytest.mark.long
@pytest.mark.timeout(700)  # two processes start, on a machine with much else to do
def test_work_on_a_simulated_gpu_goes_on_while_its_task_is_away_and_joins_again(tmp_path, free_ports):
    certificate, (ps, worker) = tmp_path / "cluster.pem", (f"127.0.0.1:{port}" for port in free_ports(2))
    write_certificate(certificate)
    with Members("--ps-hosts", ps, "--worker-hosts", worker, "--certificate", certificate) as members:
        first = members.start("ps")
        first.says("listens at")
        second = members.start("worker", 0, "--simulated-gpus", 1)
        second.says("listens at")
        with connect(ClusterSpec.from_flags(ps_hosts=ps, worker_hosts=[worker]), security=certificate) as cluster:
            with cluster.at("/job:worker/task:0"):
                working = cluster.executor.submit(work_on_a_gpu, str(tmp_path))
            eventually(lambda: list(tmp_path.glob("begun *")), 200)
            os.kill(second.pid, signal.SIGSTOP)
            first.says("/job:worker/task:0 has been silent for ")
            os.kill(second.pid, signal.SIGCONT)
            # it joins again at once, and doesn't wait for the work, which is sent again beside the first
            second.says("listens at", times=2, patience=PINNED_WORK_WAITS)
            eventually(lambda: len(list(tmp_path.glob("begun *"))) == 2 or working.done(), 200)
            (tmp_path / "enough").touch()
            assert working.result(timeout=200) is None
            eventually(
                lambda: len(notes := list(tmp_path.glob("ended *"))) == 2 and all(n.read_text() for n in notes), 200
            )
        assert {note.read_text() for note in tmp_path.glob("ended *")} == {"well"}
