"""Tests that kill tasks share a cluster: each hands it on whole, or the next would take a replacement for a leak."""

import pytest


@pytest.fixture(autouse=True)
def a_shared_cluster_is_whole_again(request, no_leaks):
    yield
    cluster = request.node.funcargs.get("cluster")
    for task in cluster.tasks if cluster is not None else []:
        with cluster.at(task):
            assert cluster.executor.submit(abs, -1).result(timeout=30) == 1
