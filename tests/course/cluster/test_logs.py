"""What an operator reads: starts, joins, losses and leases at INFO; of Dask's lines only those that tell something."""

import concurrent.futures.thread
import logging
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from course.cluster import local_cluster
from course.cluster.chief_lease import Lease, Leases
from course.cluster.dask_log import DROPPED, quiet
from tests.helpers.shells import eventually

TASK = "/job:worker/task:0"


@pytest.fixture
def records(caplog, monkeypatch):
    """A function that returns the records of the test so far, Dask's too, whose loggers may have their own handler."""
    monkeypatch.setattr(logging.getLogger("distributed"), "propagate", True)
    return lambda: caplog.get_records("call")


@pytest.fixture
def lines(caplog, records):
    """A function that returns what course.cluster has logged so far; at the end there was no warning, nor of Dask's."""
    with caplog.at_level(logging.INFO, "course.cluster"):
        yield lambda: [one.getMessage() for one in records() if one.name.startswith("course.cluster")]
    assert [one.getMessage() for one in records() if one.levelno > logging.INFO] == []


def test_a_healthy_cluster_says_who_starts_and_joins_and_when_it_closes_and_warns_of_nothing(lines):
    with local_cluster(worker=1) as cluster:
        assert list(cluster.executor.map(abs, range(-3, 0), timeout=60)) == [3, 2, 1]
        with pytest.raises(ZeroDivisionError):  # the caller's error, not the cluster's
            cluster.executor.submit(divmod, 1, 0).result(timeout=60)
        target, address = cluster.session_target, f"tls://{cluster.spec.task_address('worker', 0)}"
        pid = cluster._runtime._supervisor._processes[TASK].pid
    assert lines() == [
        f"the scheduler listens at {target}; 1 tasks start",
        f"{TASK} starts: process {pid}",
        f"{TASK} has joined at {address}: process {pid}",
        f"the cluster at {target} closes",
    ]


def end_by_kill(cluster):
    cluster.kill(TASK)
    return "is lost: process %d ended, exit code -9"


def end_by_freezing(cluster):
    cluster.freeze(TASK)
    return "is lost: process %d was frozen for 2.5 s and is killed"


def end_by_restart(cluster):
    cluster.restart(TASK)
    return "is restarted: process %d is killed"


@pytest.mark.parametrize("end", [end_by_kill, end_by_freezing, end_by_restart])
def test_the_end_of_a_process_is_one_line_and_its_successor_follows(shared_cluster, lines, end):
    cluster = shared_cluster
    with cluster.at(TASK):
        value = cluster.client.submit(bytes, 1_000_000)  # Dask logs the loss of what a process had, too
    value.status, value.result(timeout=60)
    before = cluster._runtime._supervisor._processes[TASK].pid
    words = end(cluster) % before
    eventually(lambda: any("has joined" in line for line in lines()))
    after, address = cluster._runtime._supervisor._processes[TASK].pid, cluster.spec.task_address("worker", 0)
    joined = f"{TASK} has joined at tls://{address}: process {after}"
    assert lines() == [f"{TASK} {words}", f"{TASK} starts: process {after}", joined]


def test_a_lease_that_passes_from_one_to_another_is_told_on_both_sides(lines):
    now = [10.0]
    leases = Leases(lambda: now[0], grace=0, first=0)
    first, second = (Lease(leases.ask, leases.release, "chief", task, clock=lambda: now[0]) for task in ("a", "b"))
    first.renew()
    now[0] += 0.6
    assert first.renew() and first.renew() and not second.renew()
    now[0] += 5
    assert second.renew() and not first.renew()
    second.release()
    assert lines() == [
        "lease chief: granted to a, term 1",
        "lease chief: held by a, term 1",
        "lease chief: held by a, term 1",  # as b hears it
        "lease chief of a, term 1: expired",
        "lease chief: granted to b, term 2",
        "lease chief: held by b, term 2",
        "lease chief: held by b, term 2",  # as a hears it
        "lease chief of b, term 2: given back",
    ]


@pytest.mark.parametrize(("name", "begins"), [row[:2] for row in DROPPED])
def test_a_line_that_is_dropped_is_one_that_this_dask_writes(name, begins):
    module = name.replace("worker.state", "worker_state")
    places = find_spec(module).origin, concurrent.futures.thread.__file__  # some lines are of an error of Python's
    text = re.sub(r'"\s*\n\s*f?"', "", "".join(Path(place).read_text(encoding="utf-8") for place in places))
    text += " UNEXPECTED_EOF_WHILE_READING"  # OpenSSL's word
    assert all(part in text for part in begins.split("*"))


def test_only_the_lines_of_the_table_are_dropped(records):
    quiet()
    logger = logging.getLogger("distributed.scheduler")
    lost = "Removing worker 'tls://127.0.0.1:1' caused the cluster to lose"
    logger.warning("%s already computed task(s)", lost)
    logger.error("%s scattered data, which can't be recovered", lost)
    logging.getLogger("distributed.worker").warning("%s already computed task(s)", lost)  # of another logger
    assert [one.getMessage()[len(lost) :].split()[0] for one in records()] == ["scattered", "already"]
    logging.getLogger("distributed.client").error("")
    logging.getLogger("distributed.client").error("a line")
    assert [one.getMessage() for one in records()][2:] == ["a line"]
