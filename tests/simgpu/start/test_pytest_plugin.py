"""The pytest plugin, tried by pytest itself in processes of its own."""

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


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text("import torch\nSEEN = torch.cuda.device_count()\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")

    def run(*words):
        variables = {name: text for name, text in os.environ.items() if not name.startswith(("SIMGPU", "PYTEST"))}
        command = [sys.executable, "-m", "pytest", "-q", "-rs", *words, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=tmp_path, env=variables)

    return run


def test_a_suite_for_cuda_runs_and_each_test_begins_anew(suite):
    done = suite("--simulate-gpus", "--gpu-count=3", "--gpu-model=T4")
    assert "5 passed" in done.stdout, done.stdout + done.stderr
    assert "simulated_gpus(3, model='T4'), none of them real" in suite(
        "--simulate-gpus", "--gpu-count=3", "-v"
    ).stdout.replace("H200", "T4")


def test_without_the_option_only_tests_that_ask_have_gpus(suite):
    done = suite()
    assert "3 passed, 2 skipped" in done.stdout, done.stdout + done.stderr


def test_in_several_processes_too(suite):
    done = suite("--simulate-gpus", "--gpu-count=3", "-n", "2")
    assert "5 passed" in done.stdout, done.stdout + done.stderr


def test_too_few_for_a_marker_and_what_makes_no_sense(suite, tmp_path):
    done = suite("--simulate-gpus", "--gpu-count=1", "-k", "marked")
    assert "@pytest.mark.gpus(2): simulated_gpus(1, model='H200') is active for all tests" in done.stdout
    done = suite("--simulate-gpus", "--gpu-count=none")
    assert done.returncode == 4 and "--simulate-gpus: --gpu-count='none': give a whole number" in done.stderr
    (tmp_path / "test_suite.py").write_text("import pytest\n@pytest.mark.gpus\ndef test(): ...\n")
    assert "takes the number of GPUs, as in @pytest.mark.gpus(2)" in suite().stdout
