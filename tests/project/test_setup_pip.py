"""`install_pip.py`: which build of torch is taken, and pip's failures in plain words."""

import os
import socket
import sys

import pytest

import install_pip

CPU_WHEEL = ["filelock", 'optree>=0.13.0; extra == "optree"']
# As PyPI's torch 2.13.0 for Linux has them.
CUDA_WHEEL = [
    "filelock",
    'cuda-toolkit[cublas,cudart]==13.0.3; platform_system == "Linux"',
    'cuda-bindings<14,>=13.0.3; platform_system == "Linux" and python_version < "3.15"',
    'nvidia-cudnn-cu13==9.20.0.48; platform_system == "Linux"',
    'triton==3.7.1; platform_system == "Linux" and python_version < "3.15"',
]


def sample(requires, machine="x86_64", system="Linux"):
    environment = {"platform_machine": machine, "platform_system": system, "python_version": "3.12"}
    return {"environment": environment, "install": [{"metadata": {"name": "torch", "requires_dist": requires}}]}


def test_a_build_of_torch_is_judged_by_the_cuda_packages_that_it_requires():
    cuda = ["cuda-toolkit", "cuda-bindings", "nvidia-cudnn-cu13", "triton"]
    assert install_pip.cuda_packages(sample(CUDA_WHEEL)) == cuda
    assert install_pip.cuda_packages(sample(CPU_WHEEL)) == []
    assert install_pip.cuda_packages({"environment": {}, "install": []}) == []  # torch is there already


def test_markers_that_do_not_hold_here_do_not_count():
    assert install_pip.cuda_packages(sample(CUDA_WHEEL, system="Darwin")) == []
    only_x86 = ['nvidia-nccl-cu12==2.27; platform_system == "Linux" and platform_machine == "x86_64"']
    assert install_pip.cuda_packages(sample(only_x86, machine="aarch64")) == []
    either = ['nvidia-nccl-cu12; platform_machine == "s390x" or platform_machine == "x86_64"']
    assert install_pip.cuda_packages(sample(either)) == ["nvidia-nccl-cu12"]


def choose(monkeypatch, answers):
    """Return the options that `cpu_source` chooses when pip reports `answers`, one after the other."""
    coming = iter(answers)

    def report(python, what, seconds):
        assert what[-1] == install_pip.TORCH
        answer = next(coming)
        if isinstance(answer, Exception):
            raise answer
        return sample(answer)

    monkeypatch.setattr(install_pip, "report", report)
    return install_pip.cpu_source("python", lambda text: None)


def test_cuda_is_never_begun_without_a_driver(monkeypatch):
    assert choose(monkeypatch, [CPU_WHEEL]) == []
    assert install_pip.CPU_INDEX in choose(monkeypatch, [CUDA_WHEEL, CPU_WHEEL])
    for second in (CUDA_WHEEL, install_pip.NetworkGone("unreachable")):
        with pytest.raises(install_pip.NetworkGone, match=r"can't be reached.*environment\.yml"):
            choose(monkeypatch, [CUDA_WHEEL, second])


def test_a_driver_means_pips_own_choice_and_an_old_pip_is_renewed_first(monkeypatch):
    calls = []
    monkeypatch.setattr(install_pip, "version_of_pip", lambda python: (21, 3))
    monkeypatch.setattr(install_pip, "run", lambda python, arguments, what, say: calls.append(arguments))
    monkeypatch.setattr(install_pip, "report", lambda *_: pytest.fail("asked"))
    install_pip.install_torch("python", True, lambda text: None)
    assert calls == [["install", "--upgrade", "pip"], ["install", "torch==2.13.*"]]
    install_pip.install_torch("python", True, lambda text: None, "torch==2.15.*")
    assert calls[-1] == ["install", "torch==2.15.*"]


WORDS = {
    "OSError: [Errno 28] No space left on device": "the disk is full",
    "NewConnectionError('[Errno -3] Temporary failure in name resolution')": "can't reach the package index",
    "ERROR: No matching distribution found for torch==2.13.*": r"no torch==2\.13\.\* for Python 3",
    "ERROR: something new": "Its last words:\nERROR: something new",
}


@pytest.mark.parametrize("output", WORDS)
def test_what_pip_says_becomes_a_plain_sentence(output):
    problem = install_pip.explained(output)
    with pytest.raises(install_pip.PipFailed, match=WORDS[output]):
        raise problem


def test_a_network_error_while_unpacking_is_not_taken_for_harmless():
    assert type(install_pip.explained("Installing collected packages: a\nRead timed out")) is install_pip.PipFailed


def run_pip(monkeypatch, *arguments, seconds=60, **environment):
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "1", **environment}.items():
        monkeypatch.setenv(name, value)
    said = []
    install_pip.run(sys.executable, list(arguments), "it", said.append, seconds)
    return said


def test_a_real_pip_with_an_unreachable_index_stops_with_a_sentence(monkeypatch):
    index = "http://127.0.0.1:9/simple"
    with pytest.raises(install_pip.NetworkGone, match="Check the network"):
        run_pip(monkeypatch, "install", "--dry-run", "no-such-package-anywhere", PIP_INDEX_URL=index)


def test_a_real_pip_that_hangs_is_ended_at_the_deadline(monkeypatch):
    with socket.socket() as silent:  # accepts, and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        with pytest.raises(install_pip.PipFailed, match="not done after 3 s"):
            run_pip(monkeypatch, "download", "no-such-package-anywhere", seconds=3, PIP_INDEX_URL=index)
