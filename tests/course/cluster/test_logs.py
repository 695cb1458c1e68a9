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
        yield lambda: [record.getMessage() for record in records() if record.name.startswith("course.cluster")]
    assert [record.getMessage() for record in records() if record.levelno > logging.INFO] == []


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


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("kill", "is lost: process %d ended, exit code -9"),
        ("freeze", "is lost: process %d was frozen for 2.5 s and is killed"),
        ("restart", "is restarted: process %d is killed"),
    ],
)
def test_the_end_of_a_process_is_one_line_and_its_successor_follows(cluster, lines, method, words):
    with cluster.at(TASK):
        value = cluster.client.submit(bytes, 1_000_000)  # Dask logs the loss of what a process had, too
    value.status, value.result(timeout=60)
    before = cluster._runtime._supervisor._processes[TASK].pid
    getattr(cluster, method)(TASK)
    eventually(lambda: any("has joined" in line for line in lines()))
    after, address = cluster._runtime._supervisor._processes[TASK].pid, cluster.spec.task_address("worker", 0)
    joined = f"{TASK} has joined at tls://{address}: process {after}"
    assert lines() == [f"{TASK} {words % before}", f"{TASK} starts: process {after}", joined]


def test_a_lease_that_passes_from_one_to_another_is_told_on_both_sides(lines):
    seconds = [10.0]
    leases = Leases(lambda: seconds[0], grace=0, first=0)
    first, second = (Lease(leases.ask, leases.release, "chief", task, clock=lambda: seconds[0]) for task in ("a", "b"))
    first.renew()
    seconds[0] += 0.6
    assert first.renew() and first.renew() and not second.renew()
    seconds[0] += 5
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
    text += " UNEXPECTED_EOF_WHILE_READING Connection reset by peer"  # OpenSSL's word, and the system's
    assert all(part in text for part in begins.split("*"))


def test_only_the_lines_of_the_table_are_dropped(records):
    quiet()
    logger = logging.getLogger("distributed.scheduler")
    lost = "Removing worker 'tls://127.0.0.1:1' caused the cluster to lose"
    logger.warning("%s already computed task(s)", lost)
    logger.error("%s scattered data, which can't be recovered", lost)
    logging.getLogger("distributed.worker").warning("%s already computed task(s)", lost)  # of another logger
    assert [record.getMessage()[len(lost) :].split()[0] for record in records()] == ["scattered", "already"]
    logging.getLogger("distributed.client").error("")
    logging.getLogger("distributed.client").error("a line")
    assert [record.getMessage() for record in records()][2:] == ["a line"]
