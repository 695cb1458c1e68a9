"""What a task that can't join is told: named at once on both sides, with the next step, and an exit code of 1."""

import asyncio
import datetime
import logging
import os
import socket
from types import SimpleNamespace

import pytest

from course.cluster import ClusterSpec, connect
from course.cluster.certificates import new_certificate, read_certificate, security, write_certificate
from course.cluster.multihost import handshake, reachability, task_scheduler
from course.cluster.multihost.ports import check_free
from course.cluster.multihost.reachability import Refused, reach_within
from course.cluster.multihost.refused_connections import refusals_told
from course.cluster.multihost.serve import joined
from course.cluster.multihost.which_task import Member
from tests.helpers.shells import Members, eventually


@pytest.fixture(scope="module")
def certificate():
    return new_certificate()


class Said(list):
    """Collects lines in the place of `print`."""

    def __call__(self, line, **_):
        self.append(line)

    def hears(self, words):
        """Wait until a line with these words has come: each of the two sides tells it at its own time."""
        eventually(lambda: any(words in line for line in self))


def spec_of(ports):
    ps, worker = (f"127.0.0.1:{port}" for port in ports)
    return ClusterSpec.from_flags(ps_hosts=ps, worker_hosts=worker)


@pytest.fixture(scope="module")
def running(certificate, free_ports):
    """A scheduler inside `/job:ps/task:0`, in a thread of this process; its spec, and what it said."""
    spec, lines = spec_of(free_ports(2)), Said()
    with joined(Member(spec, "ps", 0, certificate), lines):
        yield spec, lines


def refusal(spec, job, index, certificate, **more):
    """Try to join as a task of this process; return the words in which that was refused."""
    with pytest.raises(RuntimeError) as error, joined(Member(spec, job, index, certificate, 60.0, **more), Said()):
        raise AssertionError("it has joined")
    return str(error.value)


def test_a_second_task_of_one_name_is_refused_with_the_first_ones_process(running, certificate, free_ports):
    spec, _ = running
    with joined(Member(spec, "worker", 0, certificate), Said()):
        same = refusal(spec, "worker", 0, certificate)
        assert f"is taken by process {os.getpid()}" in same and "it runs already" in same
        moved = ClusterSpec({**spec.as_dict(), "worker": [f"127.0.0.1:{free_ports(1)[0]}"]})
        assert "Give every member the same spec" in refusal(moved, "worker", 0, certificate)


def test_a_taken_name_is_told_where_the_port_does_not_tell(running, certificate):
    """On two hosts: here the scheduler is asked as the second host's task would ask."""
    spec, _ = running
    with connect(spec.scheduler, security=certificate) as cluster:
        answer = handshaken(cluster, "/job:ps/task:0", spec.task_address("ps", 0))
    assert f"/job:ps/task:0 is already a member, process {os.getpid()} at tls://" in answer["refused"]
    assert "another --index" in answer["refused"] and not answer["wait"]


def handshaken(cluster, name, address, **other):
    versions = {**handshake.versions(), **other}
    scheduler = cluster.client.scheduler
    return cluster.client.sync(scheduler.handshake, name=name, address=address, versions=versions)


@pytest.mark.parametrize("package", ["python", "course", "distributed", "torch"])
def test_other_versions_are_refused_on_both_sides_with_both_named(running, certificate, package):
    spec, lines = running
    with connect(spec.scheduler, security=certificate) as cluster:
        answer = handshaken(cluster, "/job:worker/task:0", spec.task_address("worker", 0), **{package: "9.9"})
    words = f"this task has {package} 9.9, the scheduler {package} {handshake.versions()[package]}"
    assert words in answer["refused"] and "same environment.yml" in answer["refused"]
    lines.hears(words)


def test_a_client_of_another_version_is_refused(running, certificate, monkeypatch):
    spec, _ = running
    monkeypatch.setattr("course.cluster.multihost.connect.other_versions", lambda *_: "this process has python 9.9")
    with pytest.raises(ConnectionError, match=r"connect\('tls://.*python 9.9"):
        connect(spec.scheduler, security=certificate)


def test_a_role_that_the_schedulers_spec_does_not_have_is_refused(running, certificate, free_ports):
    spec, lines = running
    more = [spec.task_address("worker", 0), f"127.0.0.1:{free_ports(1)[0]}"]
    words = refusal(ClusterSpec({**spec.as_dict(), "worker": more}), "worker", 1, certificate)
    assert "the scheduler's spec has no /job:worker/task:1" in words and "the tasks of worker are 0 to 0" in words
    lines.hears("refused /job:worker/task:1")


def test_another_certificate_is_told_on_both_sides(running, certificate):
    spec, lines = running
    words = refusal(spec, "worker", 0, new_certificate())
    # whichever of the two connections that are tried at once is refused first tells it
    assert "holds another certificate" in words and "ive every member a copy" in words
    lines.hears("it holds another certificate: give every member a copy of the same file")
    with pytest.raises(ConnectionError, match="another certificate"):
        connect(spec.scheduler, security=new_certificate())


def test_plain_tcp_against_tls_is_told_on_both_sides(running):
    spec, lines = running
    words = refusal(ClusterSpec(spec.as_dict()), "worker", 0, None)
    # of the two sides, which are one process here, the first one's words are raised
    assert ("speaks TLS, and this side plain TCP" in words and "--insecure" in words) or "has no certificate" in words
    with pytest.raises(ConnectionError, match="speaks TLS, and this side plain TCP"):
        connect(spec.scheduler, insecure=True)


def test_tls_against_plain_tcp_is_told_and_the_scheduler_goes_on(free_ports, certificate):
    spec = spec_of(free_ports(2))
    with joined(Member(spec, "ps", 0, None), Said()):
        words = refusal(ClusterSpec(spec.as_dict()), "worker", 0, certificate)
        assert "speaks plain TCP, and this side TLS" in words
        with joined(Member(spec, "worker", 0, None), Said()), connect(spec, insecure=True) as cluster:
            assert cluster.missing() == []


def test_an_expired_certificate_is_told_before_anything_starts(tmp_path):
    path = tmp_path / "old.pem"
    write_certificate(path, days=-0.02)
    with pytest.raises(ValueError, match=r"it expired on 2.*course certificate FILE"):
        read_certificate(path)
    with Members("--ps-hosts", "localhost:2222", "--certificate", path) as members:
        member = members.start("ps")
        assert member.ends() == 1 and "it expired on" in member.text and "Traceback" not in member.text


def test_a_certificate_that_is_not_yet_valid_is_told_with_both_times(tmp_path, monkeypatch):
    path = tmp_path / "c.pem"
    write_certificate(path)
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=2)  # certificates begin an hour earlier
    clock = SimpleNamespace(UTC=datetime.UTC, datetime=SimpleNamespace(now=lambda _: before))
    monkeypatch.setattr("course.cluster.certificates.datetime", clock)
    words = r"it is valid from 2\d+-.* UTC on, and here it is 2.*set this machine's clock"
    with pytest.raises(ValueError, match=words):
        read_certificate(path)


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes here")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o777])
def test_a_key_that_others_may_touch_in_any_way_is_refused_with_the_way_out(mode, tmp_path):
    path = tmp_path / "c.pem"
    write_certificate(path)
    path.chmod(mode)
    with pytest.raises(ValueError, match=f"others may read the key in it; say `chmod 600 {path}`"):
        read_certificate(path)
    for own in (0o600, 0o400, 0o700):
        path.chmod(own)
        assert read_certificate(path)


def test_a_damaged_certificate_is_told(tmp_path):
    path = tmp_path / "c.pem"
    write_certificate(path)
    text = path.read_text()
    path.write_text(text.replace(text.splitlines()[3], text.splitlines()[2]))
    with pytest.raises(ValueError, match="it is damaged|it must hold"):
        read_certificate(path)


def test_a_certificate_that_expired_while_the_cluster_ran_is_told_by_who_comes_next():
    old = security(new_certificate(days=-0.02))
    with pytest.raises(Refused, match="has expired"):
        reach_one_who(lambda reader, writer: None, old, old.get_listen_args("scheduler")["ssl_context"])


def reach_one_who(answers, security, context=None):
    """`reach_within` 0.3 s a server on loopback that does `answers(reader, writer)` to each connection."""

    async def reached():
        async with await asyncio.start_server(answers, "127.0.0.1", 0, ssl=context) as server:
            address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            await reach_within(0.3, address, security.get_connection_args("worker"))

    asyncio.run(reached())


def test_who_ends_a_connection_at_once_is_a_tunnel_and_is_waited_for(certificate):
    async def end(reader, writer):
        await reader.read(1)
        writer.close()

    with pytest.raises(OSError, match="as a tunnel does while nobody listens behind it"):
        reach_one_who(end, security(certificate))


def test_a_host_without_a_name_or_an_answer_is_told_at_once(certificate):
    connection = security(certificate).get_connection_args("worker")
    with pytest.raises(Refused, match=r"no host is called 'no-such-host.invalid'.*Correct the spec"):
        asyncio.run(reach_within(60, "no-such-host.invalid:1", connection))
    spec = ClusterSpec({"scheduler": ["no-such-host.invalid:1"], "worker": ["127.0.0.1:1024"]})
    with pytest.raises(ConnectionError, match="no host is called"):
        connect(spec, security=certificate)


def test_an_unreachable_host_is_waited_for_only_where_it_was_reached_before(certificate, monkeypatch):
    async def nobody(*_):
        raise OSError(113, "No route to host")

    monkeypatch.setattr(reachability, "_connect", nobody)
    connection = security(certificate).get_connection_args("worker")
    with pytest.raises(Refused, match=r"10.0.0.1 can't be reached \(No route to host\). Is it on"):
        asyncio.run(reach_within(60, "10.0.0.1:1", connection))
    with pytest.raises(OSError, match="can't be reached"):
        asyncio.run(reach_within(0.3, "10.0.0.1:1", connection, first=False))


def test_a_task_that_waits_long_for_its_scheduler_says_once_which_role_to_start(free_ports, certificate, monkeypatch):
    monkeypatch.setattr(reachability, "WAITING_IS_SAID", 0.0)
    spec = spec_of([port for port in free_ports(12) if port < 60000][:2])
    lines = []
    me = Member(spec, "worker", 0, certificate, 1.0).settings(1, "")
    waiting = handshake.request_handshake(me, True, lambda line, **_: lines.append(line))
    with pytest.raises(OSError, match="Connect call failed"):
        asyncio.run(waiting)
    assert len(lines) == 1 and lines[0].endswith("Start /job:ps/task:0"), lines


def test_a_port_and_a_host_that_are_not_ours_are_told(free_ports):
    port = free_ports(1)[0]
    check_free(f"localhost:{port}")
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(OSError, match=rf"localhost:{port} is taken by process {os.getpid()}, .*another port"):
            check_free(f"localhost:{port}")
    with pytest.raises(OSError, match=r"192.0.2.1 is no address of this machine. Start the task on the host"):
        check_free(f"192.0.2.1:{port}")
    with pytest.raises(OSError, match="no host is called 'no-such-host.invalid'"):
        check_free("no-such-host.invalid:1")


def test_refusals_are_told_once_and_other_tasks_first_looks_not_at_all(certificate):
    lines, log = Said(), logging.getLogger("distributed.comm.tcp")
    line = "Listener on %r: TLS handshake failed with remote %r: %s"
    with refusals_told(lines):
        for error in ("[SSL: WRONG_VERSION_NUMBER]", "[SSL: WRONG_VERSION_NUMBER]", "EOF", "[SSL: HTTP_REQUEST]"):
            log.warning(line, "tls://a:1", "tls://b:2", error)
        log.warning("anything else")
    log.handlers.clear()
    assert [words.split(": it ")[1].split(":")[0] for words in lines] == [
        "speaks plain TCP, not TLS",
        "speaks plain HTTP",
    ]


def test_a_plain_dask_scheduler_is_told_from_ours(free_ports):
    from distributed import Scheduler

    async def ask():
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False, dashboard_address=None) as scheduler:
            address = scheduler.address.partition("://")[2]
            spec = ClusterSpec({"scheduler": [address], "worker": ["127.0.0.1:1024"]})
            await handshake.request_handshake(Member(spec, "worker", 0, None, 60.0).settings(1, ""), True, print)

    with pytest.raises(Refused, match="none that `python -m course task` started"):
        asyncio.run(ask())


def test_work_pinned_to_a_task_that_stays_away_fails_in_time(certificate, free_ports, monkeypatch):
    monkeypatch.setattr(task_scheduler, "PINNED_WORK_WAITS", 0.5)
    spec = spec_of(free_ports(2))
    with joined(Member(spec, "ps", 0, certificate), Said()):
        with joined(Member(spec, "worker", 0, certificate), Said()):
            cluster = connect(spec, security=certificate)
            pin = cluster.at("/job:worker/task:0")
        with cluster:
            with pin:
                waiting = cluster.executor.submit(os.getpid)
            with pytest.raises(RuntimeError, match=r"is pinned to .*, and no task has been there for 0.5 s. Start it"):
                waiting.result(timeout=60)


def test_a_scheduler_that_does_not_understand_a_handshake_is_asked_for_its_version(running, certificate, monkeypatch):
    spec, _ = running
    monkeypatch.setattr(task_scheduler, "_other_spec", lambda *_: {}["another version's"])
    assert "the scheduler could not answer" in refusal(spec, "worker", 0, certificate)
    monkeypatch.setattr(handshake, "other_versions", lambda theirs, who: f"{who[0]} has course 9, {who[1]} course 1")
    assert "the scheduler has course 9, this task course 1" in refusal(spec, "worker", 0, certificate)
