"""course.cluster.spec: what a cluster's spec says, and what a wrong one is told."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.cluster import ClusterSpec
from course.cluster.spec import by_numbers
from course.devices import DeviceName

GOOD = {"scheduler": ["localhost:8786"], "ps": ["localhost:2221"], "worker": ["localhost:2222", "127.0.0.1:2223"]}


def test_a_spec_answers_for_its_jobs_and_tasks():
    spec = ClusterSpec(GOOD)
    assert spec.jobs == ["scheduler", "ps", "worker"]
    assert spec.num_tasks("worker") == 2
    assert spec.task_address("worker", 1) == "127.0.0.1:2223"
    assert spec.tasks == ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    assert spec.scheduler == "localhost:8786"
    assert spec.as_dict() == GOOD
    assert ClusterSpec(spec) == spec and hash(ClusterSpec(spec)) == hash(spec)
    assert repr(spec) == f"ClusterSpec({GOOD})" and spec != GOOD
    assert spec != ClusterSpec({"worker": ["a:1"]}) and ClusterSpec({"worker": ["a:1"]}).scheduler is None
    spec.as_dict()["worker"].append("localhost:1")  # a copy
    spec.jobs.clear()
    assert spec.as_dict() == GOOD


def test_unknown_jobs_and_tasks_are_named_with_what_there_is():
    spec = ClusterSpec(GOOD)
    for ask in (spec.num_tasks, lambda job: spec.task_address(job, 0)):
        with pytest.raises(ValueError, match="no job 'wroker'; the jobs are scheduler, ps, worker"):
            ask("wroker")
    for index in (2, -1):
        with pytest.raises(IndexError, match="the tasks of worker are 0 to 1"):
            spec.task_address("worker", index)


@pytest.mark.parametrize(
    ("jobs", "error", "words"),
    [
        (["localhost:1"], TypeError, "a mapping is needed; the legal form is"),
        ({}, ValueError, "no job with tasks"),
        ({"scheduler": ["localhost:1"]}, ValueError, "no job with tasks"),
        ({"worker": []}, ValueError, "worker has no tasks"),
        ({"worker": "localhost:1"}, TypeError, "worker is 'localhost:1'; it must be a list"),
        ({"worker": 2}, TypeError, "worker is 2; it must be a list"),
        ({"worker": ["localhost:1", 2]}, TypeError, r"worker\[1\] is 2; it must be a string"),
        ({"worker": ["localhost"]}, ValueError, r"worker\[0\] is 'localhost'; it must be 'host:port'"),
        ({"worker": ["localhost:0"]}, ValueError, "from 1 to 65535"),
        ({"worker": ["localhost:65536"]}, ValueError, "from 1 to 65535"),
        ({"worker": ["localhost:-1"]}, ValueError, "from 1 to 65535"),
        ({"worker": ["localhost:2²"]}, ValueError, "from 1 to 65535"),
        ({"worker": ["localhost:22x"]}, ValueError, "from 1 to 65535"),
        ({"worker": ["a:1", "b:1", "a:1"]}, ValueError, r"worker\[0\] and worker\[2\] are both 'a:1'"),
        ({"ps": ["a:1"], "worker": ["a:1"]}, ValueError, r"ps\[0\] and worker\[0\] are both 'a:1'"),
        ({"scheduler": ["a:1", "a:2"], "worker": ["a:3"]}, ValueError, "a cluster has one scheduler"),
        ({"my/job": ["a:1"]}, ValueError, "a job cannot be called 'my/job'"),
        ({"1st": ["a:1"]}, ValueError, "a job cannot be called '1st'"),
        ({3: ["a:1"]}, ValueError, "a job cannot be called 3"),
        *[
            ({"worker": [f"{host}:1"]}, ValueError, r"worker\[0\] is .*; it must be 'host:port'")
            for host in ("", "-a", "a-", ".a", "a.", "::1", "[::1", "a/b", "ä", "[g]", "local host", "tls://localhost")
        ],
    ],
)
def test_a_wrong_spec_is_told_where_and_what_is_legal(jobs, error, words):
    with pytest.raises(error, match=words):
        ClusterSpec(jobs)


def test_a_spec_reads_from_toml_and_json(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(GOOD))
    (tmp_path / "c.toml").write_text("".join(f"{job} = {json.dumps(tasks)}\n" for job, tasks in GOOD.items()))
    assert ClusterSpec.read(tmp_path / "c.json") == ClusterSpec.read(str(tmp_path / "c.toml")) == ClusterSpec(GOOD)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.toml", 'worker = ["a:1"]\nps = ["a:2"\n', r"c\.toml: .*line 2"),
        ("c.toml", 'worker = ["a:1"]\nps = ["a:0"]\n', r"c\.toml:2: .*ps\[0\] is 'a:0'"),
        ("c.toml", 'worker = ["a:1"]\nps = []\n', r"c\.toml:2: .*ps has no tasks"),
        ("c.toml", 'worker = ["a:1"]\nworker = ["a:2"]\n', r"c\.toml: .*line 2"),
        ("c.json", '{"worker": ["a:1"],\n "ps": ["a:2",]}', r"c\.json: .*line 2"),
        ("c.json", '{"worker": ["a:1"],\n "ps": ["a:1"]}', r"c\.json:2: .*both 'a:1'"),
        ("c.json", '{"worker": ["a:1"],\n "ps": [7]}', r"c\.json:2: .*ps\[0\] is 7"),
        ("c.json", "[]", r"c\.json: .*a mapping is needed"),
        ("c.toml", 'ps = ["a:1"]\nworker = ["a:2",\n', r"c\.toml: .*at line 2, the last.*the legal form is"),
        ("c.yaml", "", r"must end in \.toml or \.json"),
    ],
)
def test_a_malformed_file_is_told_at_which_line(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises((TypeError, ValueError), match=words):
        ClusterSpec.read(tmp_path / name)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        ClusterSpec.read(tmp_path / "none.toml")


def test_the_classic_flags_give_a_spec_with_its_scheduler():
    spec = ClusterSpec.from_flags(ps_hosts="a:2222, b:2222", worker_hosts="c:2222", local_hosts=["d:1"])
    assert spec.as_dict() == {
        "scheduler": ["a:3222"],
        "ps": ["a:2222", "b:2222"],
        "worker": ["c:2222"],
        "local": ["d:1"],
    }
    assert spec.scheduler_task == ClusterSpec(spec).scheduler_task == "/job:ps/task:0"
    own = ClusterSpec.from_flags(ps_hosts="a:2222", worker_hosts="b:2222", scheduler_hosts="c:9")
    assert (own.scheduler, own.scheduler_task) == ("c:9", None)
    assert ClusterSpec(GOOD).scheduler_task is None
    first = ClusterSpec.from_flags(local_hosts="a:65000,b:1", a_b_hosts=("c:1", "d:1"), ps_hosts=None)
    assert (first.scheduler, first.scheduler_task) == ("a:64000", "/job:local/task:0")
    assert first.tasks[2:] == ["/job:a_b/task:0", "/job:a_b/task:1"]


@pytest.mark.parametrize(
    ("hosts", "error", "words"),
    [
        ({}, ValueError, "no job with tasks"),
        ({"ps_hosts": "a:1,"}, ValueError, "an address is missing"),
        ({"ps_hosts": ""}, ValueError, "an address is missing"),
        ({"ps_hosts": 3}, TypeError, "give 'host:port,host:port'"),
        ({"ps": "a:1"}, TypeError, "name a job by JOB_hosts"),
        ({"_hosts": "a:1"}, TypeError, "name a job by JOB_hosts"),
        ({"ps_hosts": "a:²"}, ValueError, "the port must be"),
        ({"ps_hosts": "a"}, ValueError, r"ps\[0\] is 'a'; it must be 'host:port'"),
        ({"ps_hosts": "a:1", "worker_hosts": "a:1"}, ValueError, r"ps\[0\] and worker\[0\] are both 'a:1'"),
        ({"ps_hosts": "a:1", "worker_hosts": "a:1001"}, ValueError, "are both 'a:1001'"),
        ({"scheduler_hosts": "a:1"}, ValueError, "no job with tasks"),
    ],
)
def test_wrong_flags_are_told_what_is_legal(hosts, error, words):
    with pytest.raises(error, match=words):
        ClusterSpec.from_flags(**hosts)


def test_a_spec_says_who_is_missing():
    spec = ClusterSpec(GOOD)
    assert spec.missing(spec.tasks) == []
    assert spec.missing([]) == spec.tasks
    assert spec.missing(["/job:worker/task:0", "/job:other/task:9"]) == ["/job:ps/task:0", "/job:worker/task:1"]


@pytest.mark.parametrize(("port", "scheduler"), [(1, 1001), (64535, 65535), (64536, 63536), (65535, 64535)])
def test_the_scheduler_listens_a_thousand_ports_above_or_where_none_is_below(port, scheduler):
    assert ClusterSpec.from_flags(ps_hosts=f"a:{port}").scheduler == f"a:{scheduler}"


def test_tasks_of_one_host_are_those_with_its_name_and_the_scheduler_is_none():
    spec = ClusterSpec({"scheduler": ["a:1"], "ps": ["a:2"], "worker": ["b:1", "a:3", "[::1]:4"]})
    assert spec.tasks_beside("a:99") == ["/job:ps/task:0", "/job:worker/task:1"]
    assert spec.tasks_beside("[::1]:1") == ["/job:worker/task:2"] and spec.tasks_beside("c:1") == []


def test_names_are_sorted_by_the_numbers_in_them():
    names = ["/job:b/task:10", "/job:b/task:2", "/job:a/task:3", "/job:b/task:2/gpu:11", "/job:b/task:2/gpu:2"]
    assert sorted(names, key=by_numbers) == [names[2], names[1], names[4], names[3], names[0]]


@pytest.mark.parametrize("port", [1, 65535])
@pytest.mark.parametrize("host", ["a", "9", "a-b", "a.b", "127.0.0.1", "[::1]", "[fe80::1.2.3.4]"])
@pytest.mark.parametrize("job", ["a", "A", "_", "a-b", "a.b", "a_b", "a1"])
def test_a_job_a_host_and_a_port_may_be_any_legal_one(job, host, port):
    assert ClusterSpec({job: [f"{host}:{port}"]}).task_address(job, 0) == f"{host}:{port}"


_hosts = st.sampled_from(["localhost", "127.0.0.1", "node-3.lab", "[::1]"])
_addresses = st.builds("{}:{}".format, _hosts, st.integers(1, 65535))
_jobs = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True).filter(lambda job: job != "scheduler")


@given(st.lists(st.tuples(_jobs, _addresses), min_size=1, unique_by=lambda pair: pair[1]))
def test_every_legal_spec_survives_the_round_trip(pairs):
    jobs = {}
    for job, address in pairs:
        jobs.setdefault(job, []).append(address)
    spec = ClusterSpec(jobs)
    assert ClusterSpec(spec.as_dict()).as_dict() == jobs
    assert [str(DeviceName.parse(task)) for task in spec.tasks] == spec.tasks
    assert [spec.task_address(job, i) for job in spec.jobs for i in range(spec.num_tasks(job))] == sum(
        jobs.values(), []
    )
