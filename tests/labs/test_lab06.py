"""Lab 06 holds what it promises, and the store that its last exercise is marked against is killed in truth."""

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.checks import check
from course.checks.discovery import load_part
from tests.helpers.shells import eventually
from tests.labs.solved import solved

LAB = Path(__file__).parents[2] / "labs/lab06_async_regression"
cases = load_part(LAB, "cases")
DyingStore = load_part(LAB, "dying_store").DyingStore
tanh_gradient = load_part(LAB, "driver").tanh_gradient


def module(name):
    return load_part(LAB, name)


def connections(marking, port):
    """Return what the driver gives a worker, that it would call."""
    given, names = {}, {}
    exec(marking.WORKER, names)
    names["drive"](lambda connect, *_: given.update(connect=connect), port, None, None)
    return given["connect"]


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Return what starts a store by plan in processes of this machine; all are gone afterwards."""
    made, store_host = [], module("store_host")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # others' stores come and go in the usual one

    def start(**plan):
        made.append(store_host.Host({"rate": 0.25, "every": 2, "deaths": [], "down": 0.0, **plan}))
        return made[-1]

    yield start
    for one in made:
        if one._listener.is_alive():
            one.seen()
        assert not one._listener.is_alive()  # nobody holds the other end of its pipe: all lives are over
        with pytest.raises(ProcessLookupError):
            os.kill(one.keeper, 0)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="the claim on a port is a socket of Linux's own kind")
def test_a_dead_stores_port_is_not_given_to_another_store():
    store_host = module("store_host")
    listener, claim = store_host._listener()
    listener.close()  # as when the store is dead, and will come back
    other, its_claim = store_host._listener()
    assert claim.getsockname() != its_claim.getsockname()
    for opened in (claim, other, its_claim):
        opened.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="marks are made on Linux")
@settings(max_examples=8)
@given(
    st.integers(1, 6),
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=2),
)
def test_the_killed_store_and_the_one_that_plays_dead_keep_the_same_record(total, every, deaths):
    x, y = cases.points(np.random.default_rng(total), total, 3)
    train = solved(LAB)["train_through"]
    plan = {"rate": 0.25, "every": every, "deaths": [list(death) for death in deaths], "down": 0.01}
    playing = DyingStore(plan, total)
    found = train(playing.connect, tanh_gradient, x, y)
    killed = module("store_host").Host(plan)
    try:
        also = train(connections(module("marking"), killed.address), tanh_gradient, x, y)
    finally:
        rows, version, w = killed.seen()
    np.testing.assert_allclose(also, found, rtol=1e-12)
    np.testing.assert_allclose(rows, [[at, *held, *g] for at, held, g in playing.applied], rtol=1e-12)
    assert (version, total) == (playing.version, version)
    np.testing.assert_allclose(w, playing.w, rtol=1e-12)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="marks are made on Linux")
def test_a_dead_store_refuses_connections_and_comes_back_with_its_checkpoint(host):
    store = host(every=2, deaths=[[3, True]])
    connect = connections(module("marking"), store.address)
    link = connect()
    assert [link.push([1.0, 0.0]) for _ in range(2)] == [1, 2]
    keeper = psutil.Process(store.keeper)
    eventually(lambda: not listens(keeper, store.address))  # the listener is the first life's alone
    keeper.suspend()  # no next life until it goes on
    with pytest.raises(ConnectionError):
        link.push([1.0, 0.0])
    eventually(lambda: is_refused(connect))  # the kernel takes its time to close what it killed
    keeper.resume()
    assert eventually(lambda: linked(connect)).pull()[0] == 2
    rows, version, w = store.seen()
    assert [row[0] for row in rows] == [0, 1, 2]
    assert (version, w) == (2, [-0.5, 0.0])


def is_refused(connect):
    try:
        connect()
    except ConnectionError as error:
        return isinstance(error, ConnectionRefusedError)
    return False


def listens(process, port):
    listening = [one for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN]
    return port in [one.laddr.port for one in listening]


def linked(connect):
    with suppress(ConnectionError):
        return connect()


def test_a_counterexample_of_the_store_names_the_call(monkeypatch):
    monkeypatch.chdir(LAB)
    wrong = solved(LAB, {"        self.version += 1\n": ""})["Store"]
    assert "call 2, pull told (0," in check(wrong, "store").message
    wrong = solved(LAB, {"return self.version, self.w.copy()": "return self.version, self.w"})["Store"]
    assert "expected" in check(wrong, "store").message


def test_a_worker_that_gets_nowhere_is_told_so_and_does_not_hang_the_notebook(monkeypatch):
    monkeypatch.chdir(LAB)
    stuck = solved(LAB, {"            connection.push(gradient(w, x[version], y[version]))": "            pass"})
    verdict = check(stuck["train_through"])
    assert verdict.state == "wrong"
    assert "requests, and the store is at version 0" in verdict.message
