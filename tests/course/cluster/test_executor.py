"""`executor.map` is `concurrent.futures`' map: order, errors, timeout, cancel and chunks, on tasks that may die."""

import os
import signal
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from course.cluster import local_cluster

TASKS = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]


def divided(number, divisor):
    """Fail for some arguments."""
    return number // divisor


def outcome(values):
    """What an iterator gives, and how it ends."""
    given_so_far = []
    try:
        for value in values:
            given_so_far.append(value)
    except Exception as error:
        return given_so_far, type(error), str(error)
    return given_so_far, None, ""


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-3, 3), max_size=12), st.lists(st.integers(-1, 9), max_size=12), st.integers(1, 13))
@example([1] * 9, [1, 1, 1, 1, 0, 1, 1, 1, 0], 3)  # an error in the middle of a chunk, and another one after it
@example([1] * 4, [1, 1, 0, 1], 2)  # … and at the beginning of one
@example([], [1], 1)
def test_map_gives_what_threads_give_and_fails_where_they_fail(cluster, numbers, divisors, chunksize):
    with ThreadPoolExecutor(2) as threads:
        expected = outcome(threads.map(divided, numbers, divisors))
    assert outcome(cluster.executor.map(divided, iter(numbers), divisors, timeout=60, chunksize=chunksize)) == expected


@pytest.mark.parametrize("way", ["submit", "map", "chunk"])
def test_an_error_of_a_task_comes_with_its_lines_there(cluster, way):
    with pytest.raises(ZeroDivisionError) as caught:
        if way == "submit":
            cluster.executor.submit(divided, 1, 0).result(timeout=60)
        list(cluster.executor.map(divided, [1, 1, 1], [1, 1, 0], timeout=60, chunksize=3 if way == "chunk" else 1))
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.name, frame.filename, frame.line) == ("divided", __file__, "return number // divisor")
    assert "return number // divisor" in "".join(traceback.format_exception(caught.value))


class Unpicklable(Exception):
    """An error that can't travel."""

    def __init__(self, number):
        super().__init__(number, threading.Lock())


def fail_oddly(number):
    """Raise what a chunk can't send as it is."""
    if number == 1:
        raise Unpicklable(number)
    if number == 2:
        raise SystemExit("the function's own end")
    return number


@pytest.mark.parametrize(("last", "error", "words"), [(1, Exception, "Unpicklable"), (2, RuntimeError, "SystemExit")])
def test_an_error_that_cannot_travel_or_would_end_the_task_is_told_at_its_place(cluster, last, error, words):
    values = cluster.executor.map(fail_oddly, [0, 0, last], timeout=60, chunksize=3)
    assert [next(values), next(values)] == [0, 0]
    with pytest.raises(error, match=words):
        next(values)


def test_a_chunk_is_a_whole_number_from_1_up(cluster):
    with pytest.raises(ValueError, match=r"chunksize=0.*from 1 up"):
        cluster.executor.map(abs, [1], chunksize=0)


def test_a_map_without_end_in_time_times_out_and_what_had_not_begun_never_runs(cluster, tmp_path):
    with cluster.at(TASKS[1]):
        values = cluster.executor.map(wait_then_touch, [tmp_path / "go", tmp_path / "b"], timeout=0.5)
        with pytest.raises(TimeoutError):
            next(values)
        nothing_waits(cluster)
        (tmp_path / "go").touch()
        assert cluster.executor.submit(abs, -2).result(timeout=60) == 2
    assert not (tmp_path / "b.ran").exists()


def wait_then_touch(path):
    """Wait for a file, and say that this ran."""
    path.with_suffix(".ran").touch()
    for _ in range(3000):
        if path.exists():
            return
        time.sleep(0.01)


def waiting_here(dask_worker):
    """The functions that wait on this task for their turn."""
    return [one.key for one in dask_worker.state.ready]


def nothing_waits(cluster):
    """Return once no function waits on a task for its turn: what was cancelled is, there too."""
    for _ in range(3000):
        if not any(cluster.client.run(waiting_here).values()):
            return
        time.sleep(0.01)
    raise AssertionError("a task still has waiting functions after 30 s")


def test_an_iterator_that_is_dropped_cancels_what_has_not_begun(cluster, tmp_path):
    with cluster.at(TASKS[1]):
        values = cluster.executor.map(wait_then_touch, [tmp_path, tmp_path / "go", tmp_path / "b"])
        next(values)
        values.close()
        nothing_waits(cluster)
        (tmp_path / "go").touch()
        assert cluster.executor.submit(abs, -2).result(timeout=60) == 2
    assert not (tmp_path / "b.ran").exists()


def test_calls_begin_while_a_slow_iterable_gives_the_next(cluster, tmp_path):
    def paths():
        for name in ("first", "second"):
            yield tmp_path / name
        for name in ("first", "second"):  # the next is there once these run
            ran = tmp_path / f"{name}.ran"
            assert any(ran.exists() or time.sleep(0.01) for _ in range(3000))
            (tmp_path / name).touch()
        yield tmp_path

    assert list(cluster.executor.map(wait_then_touch, paths(), timeout=60)) == [None] * 3


def test_an_iterable_that_fails_fails_map(cluster):
    with pytest.raises(ZeroDivisionError):
        cluster.executor.map(abs, (1 // divisor for divisor in (1, 0)))


def test_large_arguments_go_in_several_messages(cluster, monkeypatch):
    sent, send = [], cluster.client.map
    monkeypatch.setattr(
        cluster.client, "map", lambda call, *columns, **how: sent.append(columns[0]) or send(call, *columns, **how)
    )
    assert list(cluster.executor.map(len, [bytes(50_000_000)] * 3, timeout=60)) == [50_000_000] * 3
    assert [len(column) for column in sent] == [2, 1]


def test_dask_futures_among_the_items_become_values(cluster):
    three = cluster.client.submit(abs, -3)
    assert list(cluster.executor.map(divided, [three, 7, 8], [1, three, 2], chunksize=2)) == [3, 2, 4]


def die_once(path):
    """End this process, the first time that this is called with `path`."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    return path.name


@pytest.mark.parametrize("chunksize", [1, 4])
def test_what_ran_on_a_task_that_dies_runs_again(cluster, tmp_path, chunksize):
    calls = [tmp_path / name for name in "abcdefgh"]
    for path in calls[:3] + calls[4:]:
        path.touch()
    assert list(cluster.executor.map(die_once, calls, timeout=60, chunksize=chunksize)) == list("abcdefgh")
    for task in TASKS:  # the successor is there: the next test would take it for a leak
        with cluster.at(task):
            assert cluster.executor.submit(abs, -1).result(timeout=60) == 1


@pytest.mark.parametrize("becomes", ["lost once they are here", "lost, and one not to be had again"])
def test_values_come_whatever_becomes_of_them_as_they_are_fetched(cluster, monkeypatch, becomes):
    gather, fetches = cluster.client._gather, count()

    async def as_a_task_dies(futures, **how):
        values = await gather(futures, **how)
        if next(fetches) == 0:
            for one in futures:
                one._state.lose()  # as Dask's client does when the scheduler says that a result went with its task
                cluster.client.loop.call_later(0.05, one._state.finish)  # it is computed again
            if becomes == "lost, and one not to be had again":
                raise SystemExit("when run again, the function ended its process")
        return values

    monkeypatch.setattr(cluster.client, "_gather", as_a_task_dies)
    assert list(cluster.executor.map(abs, range(-20, 0), timeout=60)) == list(range(20, 0, -1))


def test_what_has_ended_is_fetched_together(cluster, monkeypatch):
    gather, fetched = cluster.client._gather, []

    async def counted(futures, **how):
        fetched.append(len(futures))
        return await gather(futures, **how)

    monkeypatch.setattr(cluster.client, "_gather", counted)
    assert list(cluster.executor.map(abs, range(300), timeout=60)) == list(range(300))
    assert sum(fetched) == 300 and len(fetched) < 150


def test_a_map_ends_with_its_cluster_and_an_executor_that_is_shut_takes_no_other(tmp_path):
    with local_cluster(worker=1) as own:
        executor = own.executor
        values = executor.map(wait_then_touch, [tmp_path, tmp_path / "never"])
        next(values)
    with pytest.raises(RuntimeError, match="closed"):
        next(values)
    executor.shutdown()
    with pytest.raises(RuntimeError, match=r"executor\.map: this executor is shut down"):
        executor.map(abs, [1])
