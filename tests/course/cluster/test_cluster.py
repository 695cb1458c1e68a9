"""course.cluster: tasks by name, work that lands where it is pinned, errors at once, nothing left behind."""

import asyncio
import contextlib
import gc
import os
import sys
import threading
import time
import warnings
from concurrent.futures import Future

import dask
import pytest
from dask.system import CPU_COUNT
from distributed import get_worker
from distributed.client import FutureState

from course.cluster import ClusterSpec, local_cluster
from course.cluster.task.task import LOOP_KEEPS_UP_EVERY
from tests.course.cluster.test_executor import nothing_waits, wait_then_touch, waiting_here
from tests.helpers.shells import eventually

TASKS = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]


def where():
    """The name of the task that runs this."""
    return get_worker().name


def test_tasks_are_workers_by_name_each_in_its_own_process(cluster):
    assert cluster.tasks == TASKS
    assert sorted(cluster.client.run(lambda dask_worker: dask_worker.name).values()) == TASKS
    assert len(set(cluster.client.run(os.getpid).values()) | {os.getpid()}) == 4
    if hasattr(os, "getsid"):  # a session each: a signal to one's group, or to the notebook's, reaches no other
        assert len(set(cluster.client.run(os.getsid, 0).values()) | {os.getsid(0)}) == 4


def test_a_task_leaves_the_processor_alone_shares_the_cores_and_collects_garbage(cluster):
    def settings(dask_worker):
        import torch

        looks_every = dask_worker.periodic_callbacks["tick"].callback_time / 1000
        return looks_every, torch.get_num_threads(), dask_worker.state.nthreads, gc.isenabled()

    threads = max(1, CPU_COUNT // 3)
    assert set(cluster.client.run(settings).values()) == {(LOOP_KEEPS_UP_EVERY, threads, 1, True)}
    looks = cluster.client.run_on_scheduler(
        lambda dask_scheduler: dask_scheduler.periodic_callbacks["tick"].callback_time
    )
    assert looks / 1000 == LOOP_KEEPS_UP_EVERY


def test_two_tasks_make_238_of_2(cluster):
    with cluster.at("/job:worker/task:0"):
        first = dask.delayed(lambda x: (x + 300, where()))(2)
    with cluster.at("/job:worker/task:1"):
        second = dask.delayed(lambda pair: (pair[0] - 66 + 2, where()))(first)
    assert dask.compute(first, second) == ((302, "/job:worker/task:0"), (238, "/job:worker/task:1"))


@pytest.mark.parametrize("task", TASKS)
def test_submitted_and_mapped_work_lands_where_it_is_pinned(cluster, task):
    with cluster.at(task):
        futures = [cluster.client.submit(where, pure=False) for _ in range(4)]
        ours = [cluster.executor.submit(where) for _ in range(4)]
        mapped = [cluster.executor.map(lambda _: where(), range(4), chunksize=chunksize) for chunksize in (1, 3)]
    assert cluster.client.gather(futures) == [task] * 4
    assert [one.result(timeout=60) for one in ours] == [task] * 4
    assert [list(values) for values in mapped] == [[task] * 4] * 2


def test_a_pin_ends_with_its_block_and_the_inner_one_wins(cluster):
    with cluster.at(TASKS[0]):
        with cluster.at(TASKS[1]):
            assert cluster.executor.submit(where).result(timeout=60) == TASKS[1]
        assert cluster.executor.submit(where).result(timeout=60) == TASKS[0]
    assert dask.get_annotations() == {}


def test_a_pin_holds_only_in_the_thread_that_entered_it(cluster):
    seen = {}

    def elsewhere():
        seen["pin"] = dask.get_annotations().get("workers")
        with cluster.at(TASKS[2]):
            seen["task"] = cluster.executor.submit(where).result(timeout=60)

    with cluster.at(TASKS[0]):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join(60)
        assert cluster.executor.submit(where).result(timeout=60) == TASKS[0]
    assert seen == {"pin": None, "task": TASKS[2]}


@pytest.mark.parametrize("place", ["/job:worker/task:2", "/job:wroker/task:0", "worker", "/task:1", "", 3, None])
def test_a_task_that_is_not_there_is_an_error_at_once(cluster, place):
    nearest = "Did you mean '/job:worker/task:0'" if place == "/job:wroker/task:0" else ""
    names = f"the tasks of this cluster are /job:ps/task:0, /job:worker/task:0, .*{nearest}"
    for use in cluster.at, cluster.kill, cluster.freeze, cluster.thaw, cluster.log:
        with pytest.raises(ValueError, match=names):
            use(place)


def test_the_executor_is_an_executor(cluster):
    executor = cluster.executor
    assert isinstance(executor.submit(pow, 2, 5), Future)
    assert executor.submit(int, "ff", base=16).result(timeout=60) == 255
    assert list(executor.map(pow, [1, 2, 3], [2, 2, 2])) == [1, 4, 9]
    with pytest.raises(ZeroDivisionError):
        executor.submit(lambda: 1 / 0).result(timeout=60)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="take cluster.executor again"):
        executor.submit(pow, 2, 5)
    assert cluster.executor.submit(pow, 2, 5).result(timeout=60) == 32


def test_equal_calls_are_separate_runs(cluster):
    """Dask would reuse the result of a call that it takes for pure; a dart thrown twice must be thrown twice."""
    with cluster.at(TASKS[1]):
        futures = [cluster.executor.submit(time.perf_counter_ns) for _ in range(3)]
    assert len({future.result(timeout=60) for future in futures}) == 3


def test_keyword_arguments_reach_the_function_and_not_dask(cluster):
    def echo(**given):
        return given

    given = {"workers": 3, "key": "k", "pure": 1, "retries": 2, "fn": 4}
    assert cluster.executor.submit(echo, **given).result(timeout=60) == given


def test_a_cancelled_future_never_runs(cluster, tmp_path):
    with cluster.at(TASKS[1]):
        running = cluster.executor.submit(wait_then_touch, tmp_path / "go")
        waiting = cluster.executor.submit((tmp_path / "ran").touch)
    eventually(lambda: any(cluster.client.run(waiting_here).values()))
    assert waiting.cancel()
    nothing_waits(cluster)
    (tmp_path / "go").touch()
    running.result(timeout=60)
    with cluster.at(TASKS[1]):
        cluster.executor.submit(where).result(timeout=60)
    assert not (tmp_path / "ran").exists()


def test_a_future_ends_though_its_result_is_lost_as_its_end_is_told(cluster, monkeypatch):
    wait, lost = FutureState.wait, []

    async def as_its_task_dies(state, *limits):
        await wait(state, *limits)
        if not lost:
            lost.append(state.lose())
            asyncio.get_running_loop().call_later(0.1, state.finish)  # it is computed again

    monkeypatch.setattr(FutureState, "wait", as_its_task_dies)
    assert cluster.executor.submit(pow, 2, 10).result(timeout=60) == 1024 and lost


@pytest.mark.parametrize("becomes", ["lost once it is here", "lost, and not to be had again"])
def test_a_future_ends_whatever_becomes_of_its_result_as_it_is_fetched(cluster, monkeypatch, becomes):
    gather = cluster.client._gather

    async def as_its_task_dies(futures, **how):
        values = await gather(futures, **how)
        for one in futures:
            one._state.lose()  # as Dask's client does when the scheduler says that a result went with its task
        if becomes == "lost, and not to be had again":
            raise SystemExit("when run again, the function ended its process")
        return values

    monkeypatch.setattr(cluster.client, "_gather", as_its_task_dies)
    future = cluster.executor.submit(pow, 2, 10)
    if becomes == "lost once it is here":
        assert future.result(timeout=60) == 1024
    else:
        with pytest.raises(SystemExit, match="run again"):
            future.result(timeout=60)


def test_a_large_argument_is_no_warning(cluster):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cluster.executor.submit(len, bytes(20_000_000)).result(timeout=60) == 20_000_000


def test_what_a_function_prints_is_in_the_tasks_log(cluster, capfd):
    with cluster.at(TASKS[2]):
        cluster.executor.submit(print, "hello from a task").result(timeout=60)
    assert "hello from a task\n" in cluster.log(TASKS[2])
    assert "hello" not in cluster.log(TASKS[1])
    assert capfd.readouterr() == ("", "")


def test_tasks_see_modules_files_and_environment_as_the_owner_does(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_TEST", "seen")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "only_here.py").write_text("answer = 42\n")
    with local_cluster(worker=1) as own:
        import only_here

        assert own.executor.submit(os.environ.get, "COURSE_TEST").result(timeout=60) == "seen"
        assert own.executor.submit(os.getcwd).result(timeout=60) == str(tmp_path)
        assert own.executor.submit(getattr, only_here, "answer").result(timeout=60) == 42


def test_the_spec_has_every_address(cluster):
    spec = cluster.spec
    assert spec.jobs == ["scheduler", "ps", "worker"]
    assert cluster.session_target == f"tls://{spec.scheduler}"
    listening = {address.removeprefix("tls://") for address in cluster.client.scheduler_info(-1)["workers"]}
    assert listening == {spec.task_address("ps", 0), spec.task_address("worker", 0), spec.task_address("worker", 1)}


def test_devices_have_full_names(cluster):
    found = cluster.devices()
    assert [d.name for d in found if d.kind == "cpu"] == [f"{task}/cpu:0" for task in TASKS]


def test_its_repr_and_table_are_the_same_on_every_run(cluster):
    assert repr(cluster) == "Cluster(ps=1, worker=2)"
    shown = cluster._repr_mimebundle_()
    assert shown["text/plain"] == repr(cluster)
    assert all(task in shown["text/html"] for task in TASKS)
    with local_cluster() as other:
        assert other._repr_mimebundle_() == shown


@pytest.mark.parametrize("jobs", [{"worker": 0}, {"worker": -1}, {"worker": 1.5}, {"worker": True}, {"worker": "2"}])
def test_a_wrong_number_of_tasks_names_the_job(jobs):
    with pytest.raises(ValueError, match=r"local_cluster\(worker=.*a whole number from 1 to 100"):
        local_cluster(**jobs)


@pytest.mark.parametrize(
    ("arguments", "jobs", "error", "words"),
    [
        ((3,), {}, TypeError, "say of which job"),
        (({"worker": ["localhost:2222"]},), {"ps": 1}, TypeError, "not both"),
        (({"worker": ["example.org:2222"]},), {}, ValueError, r"worker\[0\] is on 'example.org'"),
        ((), {"scheduler": 1}, ValueError, "one scheduler"),
        ((), {"my job": 1}, ValueError, "cannot be called 'my job'"),
    ],
)
def test_a_wrong_spec_is_an_error_at_once(arguments, jobs, error, words):
    with pytest.raises(error, match=words):
        local_cluster(*arguments, **jobs)


def test_a_local_cluster_takes_the_ports_of_its_spec_and_one_in_use_is_an_error_with_the_reason(free_ports):
    scheduler, worker = free_ports(2)
    spec = ClusterSpec({"scheduler": [f"127.0.0.1:{scheduler}"], "worker": [f"127.0.0.1:{worker}"]})
    with local_cluster(spec) as own:
        assert own.spec == spec
        assert own.executor.submit(where).result(timeout=60) == "/job:worker/task:0"
        words = r"(?s)/job:worker/task:0 ended 5 times .*[Aa]ddress already in use"
        with pytest.raises(RuntimeError, match=words):
            local_cluster({"worker": [f"127.0.0.1:{worker}"]})


def test_a_closed_cluster_says_so_at_once_and_closes_again_in_peace():
    own = local_cluster(worker=1)
    executor = own.executor
    pending, lease = executor.submit(time.sleep, 60), own.lease("a test's", "/job:worker/task:0")
    folder = own._runtime._folder
    assert folder.exists()
    own.close()
    began = time.monotonic()
    own.close()
    with pytest.raises(RuntimeError, match="this cluster is closed; start a new one"):
        pending.result(timeout=60)
    uses = [lambda: own.at("/job:worker/task:0"), lambda: own.executor, lambda: own.client, lambda: own.devices()]
    uses += [lambda: own.kill("/job:worker/task:0"), own.restart, lambda: executor.submit(pow, 2, 2), lease.renew]
    for use in uses:
        with pytest.raises(RuntimeError, match="this cluster is closed; start a new one"):
            use()
    assert time.monotonic() - began < 15  # nothing was waited for
    assert not folder.exists()


def test_a_forgotten_cluster_closes_itself_but_not_while_its_executor_works():
    executor = local_cluster(worker=1).executor
    assert executor.submit(pow, 2, 5).result(timeout=60) == 32
    folder = executor._cluster._runtime._folder
    assert folder.exists()
    del executor
    eventually(lambda: not folder.exists())


CELLS = """
def fails(own):
    own.executor.submit(divmod, 1, 0).result(60)
cluster = local_cluster(worker=1)
---
fails(cluster)
---
cluster = local_cluster(worker=1)
"""


@pytest.mark.long
def test_a_cell_that_runs_again_after_an_error_closes_the_cluster_of_before(monkeypatch):
    names, folders = {"local_cluster": local_cluster}, []
    for cell in CELLS.split("---"):
        try:
            exec(cell, names)
        except ZeroDivisionError as error:  # as a notebook does, which keeps it for a debugger
            monkeypatch.setattr(sys, "last_value", error, raising=False)
        folders.append(names["cluster"]._runtime._folder)
    eventually(lambda: not folders[0].exists())
    assert folders[-1].exists()
    names["cluster"].close()


def test_clusters_open_and_close_without_leaving_a_file_descriptor():
    def open_files():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("counting file descriptors needs /proc")
    local_cluster(worker=1).close()
    before = open_files()
    for _ in range(3):
        with local_cluster(worker=1) as own:
            own.executor.submit(pow, 2, 2).result(timeout=60)
    eventually(lambda: open_files() <= before)


def test_a_cluster_works_in_a_thread_and_beside_another(cluster):
    answers = []

    def work():
        with local_cluster(worker=1) as mine:
            answers.append(mine.executor.submit(where).result(timeout=60))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(120)
    assert answers == ["/job:worker/task:0"]
    assert cluster.executor.submit(pow, 3, 3).result(timeout=60) == 27


def test_the_dashboard_is_off_unless_asked_for(cluster, monkeypatch):
    assert cluster.dashboard_link is None
    with local_cluster(worker=1, dashboard=True) as own:
        import urllib.request

        link = own.dashboard_link
        assert link.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(link, timeout=60) as answer:
            assert answer.status == 200
        monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ann/")
        assert own.dashboard_link.startswith("/user/ann/proxy/") and own.dashboard_link.endswith("/status")


def test_only_loopback_and_only_tls(cluster):
    import socket
    import ssl

    host, _, port = cluster.spec.scheduler.rpartition(":")
    assert host == "127.0.0.1"
    with socket.create_connection((host, int(port)), timeout=60) as plain:
        stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
        heard = b""
        with contextlib.suppress(ssl.SSLError, ConnectionError), stranger.wrap_socket(plain) as wrapped:
            heard = wrapped.recv(1)  # without the cluster's certificate the handshake ends here at the latest
        assert heard == b"", "Dask greeted a stranger"
