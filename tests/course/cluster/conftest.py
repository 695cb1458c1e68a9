"""The cluster of most tests here: the one that all tests of this process share."""

import pytest


@pytest.fixture
def cluster(shared_cluster):
    return shared_cluster
