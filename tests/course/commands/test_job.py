"""A job's file: a slip in it is told with what is legal, before anything starts; a job runs, is asked, and ends."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.commands.job import _write_entry
from course.commands.job_file import Job, read_job
from tests.helpers.shells import eventually

ROOT = Path(__file__).resolve().parents[3]
LONG_JOB = """
name = "line"
[train]
problem = "linear"
steps = 100000000
checkpoint_dir = "saved"
[cluster]
where = "local"
ps = 1
worker = 1
"""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return the function from words after `job` to (exit code, output); its jobs are of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def ask(*words):
        answer = CliRunner().invoke(main, ["job", *words])
        return answer.exit_code, answer.output

    return ask


WRONG = [
    ("steps 5", "it is no TOML: "),
    ("jobs = 3", "there is no key 'jobs': the keys are name, train, cluster"),
    ("name = 'a/b'", "name = 'a/b': give up to 63 letters"),
    ("train = 3", "train = 3: make it a table, with the line [train]"),
    ("[train]\nstps = 3", "[train] there is no key 'stps': the keys are problem, "),
    ("[train]\nstps = 3", "Did you mean steps?"),
    ("[train]\nsteps = 'many'", "[train] steps = 'many': give a whole number"),
    ("[train]\nsteps = 1.5", "[train] steps = 1.5: give a whole number"),
    ("[train]\nsteps = true", "[train] steps = True: give a whole number"),
    ("[train]\nsteps = 0", "[train] steps = 0: 0 is not in the range x>=1"),
    ("[train]\nresume = 1", "[train] resume = 1: give true or false"),
    ("[train]\nmode = 'asnyc'", "[train] mode = 'asnyc': 'asnyc' is not one of 'async', 'sync'"),
    ("[train]\nproblem = 'linea'", "[train] problem linea: there are linear, linear-101, mnist"),
    ("[train]\ndata = 'points.npz'", "[train] data points.npz: the problem linear has its own data"),
    ("[train]\nvalidate = 50", "[train] validate: the problem linear has no validate(parameters)"),
    ("[train]\nsteps = 3\nepochs = 2", "[train] steps 3 --epochs 2: give one of them"),
    ("[train]\nlearning_rate = -1", "[train] learning-rate -1.0: give a finite number above 0"),
    ("[train]\nmode = 'sync'\nmax_staleness = 3", "[train] mode='sync', max_staleness=3, aggregate=None: use"),
    ("[train]\nmode = 'sync'\naggregate = 3", "[train] aggregate=3: with 2 workers it can be 1 to 2"),
    ("[train]\ndevice = 'card'", "[train] train(device='card'): "),
    ("[cluster]\nwhere = 'slrum'", "[cluster] deploy('slrum'): the kinds are 'local', 'slurm', 'ssh', 'kubernetes'"),
    ("[cluster]\nworker = 0", "[cluster] local_cluster(worker=0): the number of tasks must be"),
    ("[cluster]\nsimulated_gpus = -1", "[cluster] local_cluster(simulated_gpus=-1): say how many"),
    ("[cluster]\nwhere = 'slurm'\npartitn = 3", "Did you mean partition?"),
    (
        "[cluster]\nwhere = 'slurm'\nmemory = '2 cows'",
        "[cluster] deploy('slurm', memory='2 cows'): say it as in memory='4GB'",
    ),
    ("[cluster]\nwhere = 'ssh'", "[cluster] deploy('ssh'): name the hosts, as in hosts=['alpha', 'user@beta']"),
    (
        "[cluster]\nwhere = 'gcp'\nimage = 'course:1'\nport = 22",
        "[cluster] deploy('gcp', port=22): give a whole number",
    ),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_a_slip_in_a_jobs_file_is_told_before_anything_starts(asked, tmp_path, text, words):
    Path("job.toml").write_text(text)
    code, output = asked("job.toml")
    plain = re.sub(r"\s+", " ", output)
    assert code == 2 and (f"job.toml: {words}" in plain or ("Did you mean" in words and words in plain))
    assert not (tmp_path / "state").exists()


def test_a_jobs_file_has_the_flags_of_train_and_its_defaults(tmp_path):
    (tmp_path / "job.toml").write_text("[train]\nlearning_rate = 1\nvalidate = 50\n[cluster]\nworker = 3\n")
    job = read_job(tmp_path / "job.toml")
    assert (job.name, job.where, job.counts, job.options) == ("job", "local", {"ps": 1, "worker": 3}, {})
    assert job.train["learning_rate"] == 1.0 and job.train["validate"] == 50
    assert job.train["problem"] == "linear" and job.train["mode"] == "async" and job.train["steps"] is None


def test_a_job_that_there_is_not_is_told_with_where_the_jobs_are(asked):
    for words in (("other", "--status"), ("other", "--stop"), ("--logs",)):
        code, output = asked(*words)
        assert code == 2 and "`python -m course job` lists them" in " ".join(output.split())
    assert asked() == (0, "no job was submitted from here\n")


def test_a_job_that_is_stopped_while_it_still_starts_was_stopped_and_not_killed(asked, tmp_path):
    folder = tmp_path / "state" / "course" / "jobs" / "early"
    folder.mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as starting:
        _write_entry(folder, Job("early", {}, "local", {"ps": 1, "worker": 1}, {}), starting.pid)
        assert asked("early", "--stop") == (0, "early: stopped\n") == asked("early", "--status")


@pytest.mark.long
def test_a_job_runs_by_itself_says_how_it_is_and_saves_what_it_has_when_it_is_stopped(asked):
    Path("job.toml").write_text(LONG_JOB)
    submitted = subprocess.run(
        [sys.executable, "-m", "course", "job", "job.toml"], capture_output=True, text=True, timeout=240
    )
    assert submitted.stdout.startswith("line: submitted, process "), submitted.stderr
    try:
        eventually(lambda: "updates · loss" in asked("line", "--logs")[1], 240)
        assert asked("job.toml", "--status")[1].startswith("line: running on local for ")
        code, output = asked("job.toml")
        assert code == 2 and "is not over: `python -m course job line --stop` ends it" in " ".join(output.split())
    finally:
        stopped = asked("line", "--stop")
    assert stopped == (0, "line: stopped\n") == asked() and list(Path("saved").iterdir())


@pytest.mark.long
def test_a_job_that_is_waited_for_prints_its_log_and_says_by_its_exit_code_how_it_ended(asked):
    Path("job.toml").write_text("[train]\ndevice = '/gpu:0'\n")
    command = [sys.executable, "-m", "course", "job", "job.toml", "--wait"]
    failed = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert failed.returncode == 1 and "job: failed: train(device='/gpu:0'): /job:worker/task:0 has" in failed.stdout
    Path("job.toml").write_text("[train]\nsteps = 20\n[cluster]\nworker = 1\n")
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "20 of 20 updates" in done.stdout and done.stdout.endswith("job: done\n")
