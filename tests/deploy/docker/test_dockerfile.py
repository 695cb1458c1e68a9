"""The Dockerfile: three targets that run as a plain user on a pinned base, with no secret, of files that are there."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.deploy.docker import dockerfile
from tests.deploy.docker.compose_file import FOLDER, ROOT

TEXT = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
STAGES, ARGUMENTS = dockerfile.read(TEXT)
TARGETS = ("lab", "worker", "server")


def test_the_dockerfile_has_no_fault():
    assert dockerfile.faults(TEXT, TARGETS) == []


@pytest.mark.parametrize(
    "old, new, told",
    [
        ("@sha256:", "@sha256:0", "not pinned"),
        ("bookworm-20251229-slim@sha256:d5d3f9c2", "latest#", "not pinned"),
        ("USER 1000:1000", "USER learner", "worker runs as learner"),
        ("USER 1000:1000", "", "lab runs as root"),
        ("AS server", "AS serving", "there is no target server"),
        ("ENV PIP_NO_CACHE_DIR=1", "ENV PIP_TOKEN=abc", "a secret stands in ENV"),
    ],
)
def test_a_dockerfile_with_a_fault_is_told(old, new, told):
    assert old in TEXT
    assert any(told in fault for fault in dockerfile.faults(TEXT.replace(old, new), TARGETS))


@pytest.mark.parametrize(
    "old, new, rule",
    [
        ("", "", None),
        (" --no-install-recommends", "", "DL3015"),
        ("rm -rf /var/lib/apt/lists/*", "true", "DL3009"),
        ("COPY . .", "ADD . .", "DL3020"),
        ('CMD ["python", "-m", "course", "serve"', "CMD python -m course serve #", "DL3025"),
        ("RUN .venv/bin/python -m compileall", "RUN sudo .venv/bin/python -m compileall", "DL3004"),
    ],
)
def test_hadolint_finds_nothing_and_finds_what_is_planted(old, new, rule):
    hadolint = shutil.which("hadolint", path=os.path.dirname(sys.executable))
    if hadolint is None:
        pytest.skip("hadolint is in the test extra on Linux with x86-64 only")
    text = TEXT.replace(old, new) if old else TEXT
    # DL3008 wants a version for each of Debian's packages: the base is pinned, and these get security fixes
    command = [hadolint, "--no-color", "--ignore", "DL3008", "-"]
    told = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert (rule in told.stdout and told.returncode) if rule else (told.stdout == "" and told.returncode == 0)


def test_what_is_copied_is_there_and_let_into_the_context():
    let_in = (ROOT / ".dockerignore").read_text().splitlines()
    assert let_in[1] == "*"
    for stage in STAGES.values():
        for word, rest in stage.instructions:
            if word == "COPY" and not rest.startswith("--from"):
                for name in rest.split()[:-1]:
                    assert (ROOT / name).exists() and (name == "." or f"!{name.split('/')[0]}" in let_in)
    assert all(f"!{name}" in let_in for name in ("install.py", "install_pip.py", "pyproject.toml", "README.md"))
    assert {"**/*.pem", "**/*.key"} <= set(let_in)


def test_commands_and_health_checks_call_files_and_flags_that_exist():
    for target in TARGETS:
        for words in filter(None, (dockerfile.command(STAGES, target), dockerfile.health(STAGES, target))):
            for word in words:
                if re.fullmatch(r"(deploy|binder)/[\w./-]+", word):
                    assert (ROOT / word).is_file(), word
            if words[:3] == ["python", "-m", "course"]:
                asked = [sys.executable, *words[1:4], "--help"]
                said = subprocess.run(asked, capture_output=True, text=True, timeout=60, cwd=ROOT).stdout
                assert all(flag in said for flag in words if flag.startswith("--")), words


@pytest.mark.parametrize("name", ["dask-scheduler", "dask-worker"])
def test_the_old_names_of_dasks_commands_call_the_new_ones(name):
    assert os.access(FOLDER / name, os.X_OK)
    environment = os.environ | {"PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}
    asked = subprocess.run([FOLDER / name, "--help"], capture_output=True, text=True, timeout=60, env=environment)
    assert asked.returncode == 0 and f"Usage: dask {name.removeprefix('dask-')}" in asked.stdout
    assert f"deploy/docker/{name}" in str(STAGES["worker"].instructions)


def test_the_build_argument_chooses_the_build_of_torch():
    [line] = [rest for word, rest in STAGES["build"].instructions if word == "RUN" and "install.py" in rest]
    for torch, asked in (("cpu", "install.py\n"), ("cuda", "install.py --cuda\n"), ("rocm", None)):
        said = subprocess.run(
            ["sh", "-c", line.replace("python3 ", "echo ")], capture_output=True, text=True, env={"TORCH": torch}
        )
        assert (said.stdout == asked) if asked else (said.returncode == 1 and "give cpu or cuda" in said.stderr)
    assert ("ARG", "TORCH=cpu") in STAGES["build"].instructions


def test_the_base_is_a_python_that_the_course_supports():
    assert "bookworm" in ARGUMENTS["BASE"] and json.loads(dockerfile.last(STAGES, "lab", "CMD"))  # Debian 12: 3.11
