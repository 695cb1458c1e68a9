"""Ranks: torch.distributed on a cluster's tasks gives the sum, names what failed, and leaves nothing behind."""

import os
import signal
import time

import psutil
import pytest
import torch

from course.cluster import local_cluster
from course.replicas import RankError, ring_all_reduce, run_ranks


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(worker=3) as running:
        yield running


def total(rank, size, length):
    from torch import distributed

    values = torch.arange(length) + rank
    distributed.all_reduce(values)
    return values.tolist()


def listening(pid):
    """The (address, port) pairs on which a process listens."""
    connections = psutil.Process(pid).net_connections("inet")
    return {(c.laddr.ip, c.laddr.port) for c in connections if c.status == psutil.CONN_LISTEN}


def ports_in_use(pid):
    """The ports at either end of a process's connections."""
    return {end.port for c in psutil.Process(pid).net_connections("inet") for end in (c.laddr, c.raddr) if end}


def own_ring(rank, size):
    from torch import distributed

    sent = []

    def give(tensor):
        sent.append(distributed.isend(tensor.clone(), (rank + 1) % size))

    def take(like):
        arrived = torch.empty_like(like)
        distributed.recv(arrived, (rank - 1) % size)
        return arrived

    mine = torch.linspace(0, 1, 100) ** (rank + 1)
    theirs = mine.clone()
    ring_all_reduce(mine, rank, size, give, take)
    for one in sent:
        one.wait()
    distributed.all_reduce(theirs)
    return mine, theirs


def test_every_rank_gets_the_sum_and_results_come_in_the_order_of_ranks(cluster):
    assert run_ranks(total, cluster, 4) == [[3, 6, 9, 12]] * 3
    assert run_ranks(lambda rank, size: (rank, size), cluster, workers=2) == [(0, 2), (1, 2)]


def test_ranks_listen_on_loopback_only_and_their_ports_are_gone_afterwards(cluster):
    pids = run_ranks(lambda rank, size: os.getpid(), cluster)
    before = [listening(pid) for pid in pids]
    during = run_ranks(lambda rank, size: listening(os.getpid()), cluster)
    ranks = set.union(*during) - set.union(*before)
    assert len(ranks) >= 3 and all(address in ("127.0.0.1", "::1") for address, _ in set.union(*during))
    deadline = time.monotonic() + 60
    # Dask opens and closes connections of its own meanwhile: the ports to look for are those that the ranks opened.
    while {port for _, port in ranks} & set.union(*(ports_in_use(pid) for pid in pids)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_ring_over_real_processes_is_gloos_sum_and_the_same_bits_on_all_ranks(cluster):
    found = run_ranks(own_ring, cluster)
    for mine, theirs in found:
        torch.testing.assert_close(mine, theirs)
        assert torch.equal(mine, found[0][0]) and torch.equal(theirs, found[0][1])


def dies(rank, size):
    from torch import distributed

    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    distributed.all_reduce(torch.ones(3))


def test_a_rank_that_is_killed_is_named_and_the_next_run_works(cluster):
    started = time.monotonic()
    with pytest.raises(RankError, match="/job:worker/task:1 .*All ranks are needed; call it again"):
        run_ranks(dies, cluster)
    assert time.monotonic() - started < 60  # an end, not a speed
    assert run_ranks(total, cluster, 1) == [[3]] * 3


def dies_when_it_connects():
    from torch import distributed

    distributed.init_process_group = lambda *_, **__: os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


@pytest.mark.long
def test_a_rank_that_is_killed_while_the_others_connect_does_not_spoil_the_next_run(cluster):
    with cluster.at("/job:worker/task:1"):
        cluster.executor.submit(dies_when_it_connects).result(timeout=30)
    with pytest.raises(RankError, match="/job:worker/task:1 .*All ranks are needed; call it again"):
        run_ranks(total, cluster, 1)
    assert run_ranks(total, cluster, 1) == [[3]] * 3


def divides(rank, size):
    from torch import distributed

    if rank == 2:
        raise ZeroDivisionError("rank 2 divided by zero")
    distributed.all_reduce(torch.ones(3))


def test_a_rank_that_raises_is_named_with_its_error_not_with_its_neighbours(cluster, monkeypatch):
    monkeypatch.setattr("course.replicas.ranks.RANKS_SAY_WHY", 60.0)
    with pytest.raises(RankError, match="/job:worker/task:2 raised ZeroDivisionError: rank 2 divided") as caught:
        run_ranks(divides, cluster)
    assert "task:0" not in str(caught.value) and isinstance(caught.value.__cause__, ZeroDivisionError)


def waits(rank, size, seconds):
    from torch import distributed

    if rank == 1:
        time.sleep(seconds)
    distributed.all_reduce(torch.ones(3))


def test_a_rank_that_is_silent_is_named_after_the_silence_that_was_asked_for(cluster):
    with pytest.raises(RankError, match="/job:worker/task:1 did not answer.*cluster.restart"):
        run_ranks(waits, cluster, 60, silence=1)
    cluster.restart("/job:worker/task:1")
    assert run_ranks(total, cluster, 1) == [[3]] * 3


@pytest.mark.long
def test_a_wait_that_is_no_reduction_ends_at_the_deadline(cluster):
    with pytest.raises(RankError, match="/job:worker/task:0 did not answer"):
        run_ranks(lambda rank, size: time.sleep(4), cluster, workers=1, deadline=0.5)


@pytest.mark.parametrize("workers", [0, 4])
def test_more_ranks_than_workers_are_refused(cluster, workers):
    with pytest.raises(ValueError, match="this cluster has 3 worker tasks to offer"):
        run_ranks(total, cluster, 1, workers=workers)


class Elsewhere:
    """A cluster one of whose workers has an address that other machines reach."""

    def __init__(self, cluster):
        self.tasks = cluster.tasks
        self.spec = self

    def task_address(self, job, index):
        return "10.0.0.7:40001" if index == 1 else "127.0.0.1:40000"


def test_a_worker_on_another_machine_is_refused_because_gloo_does_not_encrypt(cluster):
    with pytest.raises(ValueError, match="/job:worker/task:1 may be on another machine.*unencrypted"):
        run_ranks(total, Elsewhere(cluster), 1)
