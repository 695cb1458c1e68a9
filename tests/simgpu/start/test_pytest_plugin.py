"""The pytest plugin, tried by pytest itself: several runs in one process, and one started from the command line."""

import json
import os
import subprocess
import sys

import pytest

SUITE = """
import pytest, torch

HERE = torch.cuda.is_available()                     # at import: before any test runs


@pytest.mark.skipif(not HERE, reason="needs a GPU")
def test_skips_are_read_when_the_gpus_are_there():
    assert torch.cuda.device_count() == 3
    torch.cuda.set_device(2)
    torch.ones(2**20, device="cuda:2") * 2
    assert torch.cuda.max_memory_allocated(2) >= 2**22


@pytest.mark.skipif(not HERE, reason="needs a GPU")
def test_the_next_begins_anew():
    import simgpu

    assert torch.cuda.current_device() == 0 and torch.cuda.max_memory_allocated(2) == 0
    assert simgpu.active().clock.host == 0.0


@pytest.mark.gpus(2)
def test_a_marked_test_has_its_gpus():
    assert torch.cuda.device_count() >= 2


def test_the_fixture_is_the_simulation(gpus):
    assert torch.ones(1, device="cuda").is_cuda and gpus.clock.host > 0


def test_others_have_none():
    assert torch.cuda.is_available() == HERE
"""
RUNS = """
import contextlib, io, json, sys, pytest

results = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        status = pytest.main(["-q", "-rs", *words])
    for name in ("conftest", "test_suite", "test_marker"):
        sys.modules.pop(name, None)  # the next run imports them again
    results.append([int(status), out.getvalue()])
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "test_marker.py").write_text("import pytest\n@pytest.mark.gpus\ndef test(): ...\n")
    (folder / "conftest.py").write_text("import torch\nSEEN = torch.cuda.device_count()\n")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
    return folder


def started(folder, *words):
    variables = {name: text for name, text in os.environ.items() if not name.startswith(("SIMGPU", "PYTEST"))}
    command = [sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=folder, env=variables)


@pytest.fixture(scope="module")
def runs(suite):
    """Return name -> (exit status, output) of runs that follow one another in one process: each ends what it began."""
    words = {
        "with GPUs": ["--simulate-gpus", "--gpu-count=3", "test_suite.py"],
        "without": ["test_suite.py"],
        "too few": ["--simulate-gpus", "--gpu-count=1", "-k", "marked", "test_suite.py"],
        "no number": ["--simulate-gpus", "--gpu-count=none", "test_suite.py"],
        "no count": ["test_marker.py"],
    }
    done = started(suite, "-c", RUNS, json.dumps([*words.values()]))
    assert done.returncode == 0, done.stderr
    return dict(zip(words, json.loads(done.stdout), strict=True))


@pytest.mark.long
def test_a_suite_for_cuda_runs_and_each_test_begins_anew(runs):
    status, output = runs["with GPUs"]
    assert status == 0 and "5 passed" in output, output


def test_without_the_option_only_tests_that_ask_have_gpus(runs):
    status, output = runs["without"]
    assert status == 0 and "3 passed, 2 skipped" in output, output


def test_too_few_for_a_marker_and_what_makes_no_sense(runs):
    assert "@pytest.mark.gpus(2): simulated_gpus(1, model='H200') is active for all tests" in runs["too few"][1]
    status, output = runs["no number"]
    assert status == 4 and "--simulate-gpus: --gpu-count='none': give a whole number" in output
    assert "takes the number of GPUs, as in @pytest.mark.gpus(2)" in runs["no count"][1]


@pytest.mark.long
def test_from_the_command_line_the_header_says_that_none_is_real(suite):
    options = ["--simulate-gpus", "--gpu-count=3", "--gpu-model=T4"]
    done = started(suite, "-m", "pytest", "-v", *options, "test_suite.py")
    assert "5 passed" in done.stdout and "simulated_gpus(3, model='T4'), none of them real" in done.stdout, done.stderr


@pytest.mark.long
def test_in_several_processes_too(suite):
    done = started(suite, "-m", "pytest", "--simulate-gpus", "--gpu-count=3", "-n", "2", "test_suite.py")
    assert "5 passed" in done.stdout, done.stdout + done.stderr
