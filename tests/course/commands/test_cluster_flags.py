"""`course pi`, `life` and `mean` on a cluster that runs already, or as its tasks, by flags as they were typed."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from click.testing import CliRunner

from course.__main__ import main
from course.cluster import ClusterSpec
from course.cluster.certificates import write_certificate
from course.commands.cluster_flags import computing_task
from course.commands.life import run_in_strips
from course.life import run
from course.pi import estimate_pi
from tests.helpers.shells import Member, classic


def said(*flags):
    done = CliRunner().invoke(main, list(map(str, flags)))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def running(no_leaks_from_this_file, free_ports, tmp_path_factory):
    """A ps with the scheduler inside and two workers: (their spec, the certificate's file, a file of the spec)."""
    folder = tmp_path_factory.mktemp("cluster")
    with classic(folder, free_ports(3)) as (_, spec, certificate, _):
        file = folder / "cluster.toml"
        file.write_text("".join(f"{job} = {addresses}\n" for job, addresses in spec.as_dict().items()))
        yield spec, certificate, file


@pytest.fixture(params=["scheduler", "spec", "hosts"])
def flags(request, running):
    """The flags that name the running cluster, in each of the three ways."""
    spec, certificate, file = running
    hosts = spec.as_dict()
    return {
        "scheduler": [f"--scheduler_hosts={spec.scheduler}", f"--certificate={certificate}"],
        "spec": ["--spec", file],
        "hosts": [f"--ps_hosts={','.join(hosts['ps'])}", f"--worker_hosts={','.join(hosts['worker'])}"]
        + [f"--certificate={certificate}"],
    }[request.param]


def test_pi_is_the_same_on_a_running_cluster_and_alone(flags):
    there = said("pi", "--samples", "200000", *flags)
    assert f"{estimate_pi(200_000).inside:,} of 200,000 darts inside" in there
    assert "on /job:ps/task:0, /job:worker/task:0, /job:worker/task:1, at tls://127.0.0.1:" in there


def test_numsamples_counts_the_darts_of_each_worker(flags):
    assert "of 2,000 darts" in said("pi", "--numsamples=1000", *flags)
    assert "of 1,000 darts" in said("pi", "--numsamples", "1000")


def test_life_in_strips_on_a_running_cluster_has_the_same_cells_as_alone(flags):
    alone = said("life", "--generations", "20", "--every", "10", "--show")
    there = said("life", "--generations", "20", "--every", "10", "--show", *flags)
    assert "a strip each on /job:ps/task:0" in there
    assert there.splitlines()[1:-1] == alone.splitlines()[:-1] and len(there.splitlines()) > 140


def test_a_mean_on_a_running_cluster_is_that_of_all_numbers_at_once(flags):
    line = said("mean", "--samples", "1000", *flags)
    found = re.search(r"mean = (\S+) of 1,000 numbers in 2 slices; at once (\S+)", line)
    assert float(found[1]) == pytest.approx(float(found[2]), rel=1e-11)
    assert "in 3 slices" in said("mean", "--samples", "10", "--parts", "3")


@pytest.mark.parametrize("parts", [1, 2, 5, 40])
@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("generations", [0, 1, 7, 50])
def test_a_board_in_strips_is_the_board_in_one(parts, wrap, generations):
    board = torch.randint(0, 2, (31, 23), dtype=torch.uint8, generator=torch.Generator().manual_seed(parts))
    with ThreadPoolExecutor(2) as executor:
        found = run_in_strips(executor, parts, board, generations, "auto", "B3/S23", wrap)
    assert torch.equal(found, run(board, generations, wrap=wrap))


@pytest.mark.parametrize("command", ["pi", "life", "mean"])
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--job_name=ps"], "--job-name ps: give the cluster too"),
        (["--ps_hosts=127.0.0.1:2", "--job_name=chief"], "there is no job 'chief'"),
        (["--worker_hosts=127.0.0.1:2", "--certificate", "none.pem"], "course certificate none.pem"),
        (["--scheduler_hosts=nonsense", "--insecure"], "'tls://localhost:8786'"),
        (["--worker_hosts=127.0.0.1:9", "--insecure", "--patience", "0.2"], "no scheduler answered within 0.2 s"),
    ],
)
def test_what_is_wrong_with_a_clusters_flags_is_said_in_a_few_lines(command, flags, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [command, *flags])
    assert done.exit_code in (1, 2) and words in " ".join(done.output.split()), done.output
    assert "Traceback" not in done.output and len(done.output.splitlines()) < 8


def test_worker_0_computes_and_where_there_is_none_the_first_task_that_is_no_ps():
    assert computing_task(ClusterSpec({"ps": ["a:1"], "other": ["a:2"], "worker": ["a:3"]})) == "/job:worker/task:0"
    assert computing_task(ClusterSpec({"ps": ["a:1"], "local": ["a:2", "a:3"]})) == "/job:local/task:0"
    assert computing_task(ClusterSpec({"ps": ["a:1"]})) == "/job:ps/task:0"


@pytest.mark.long
@pytest.mark.faults
def test_the_classic_command_lines_start_every_task_and_worker_0_prints_pi(free_ports, tmp_path):
    write_certificate(tmp_path / "cluster.pem")
    ps, first, second = (f"127.0.0.1:{port}" for port in free_ports(3))
    line = [f"--ps_hosts={ps}", f"--worker_hosts={first},{second}", "--numsamples=1000"]
    roles = []
    try:
        for job, index in (("worker", 0), ("worker", 1), ("ps", 0)):
            role = [f"-job_name={job}", f"-task_index={index}"]  # with one dash, as one of them was typed
            roles.append(Member(*line, *role, folder=tmp_path, room="pi"))
        chief, *others = roles
        chief.says("pi = 3.", patience=120)
        chief.says("of 2,000 darts inside")
        assert chief.ends(60) == 0
        for one in others:
            one.says("listens at")
            one.process.terminate()
            assert one.ends(60) == 0 and "Traceback" not in one.text
    finally:
        for role in roles:
            role.close()
