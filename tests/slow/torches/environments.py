"""Environments in build/torches: a torch with all that it brings and what simgpu's tests need; no Dask, no Jupyter."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import install
import install_pip
from simgpu.versions import BEYOND, OLDEST, numbers

ROOT = Path(__file__).resolve().parents[3]
#: Of the course's packages, in pyproject.toml's ranges.
NEEDED = ("expecttest", "fastjsonschema", "hypothesis", "numpy", "psutil", "pytest", "pytest-timeout", "pytest-xdist")
OLDEST_TORCH = f"{OLDEST[0]}.{OLDEST[1]}.*"
RANGE = f"torch>={OLDEST[0]}.{OLDEST[1]}"
LIMIT = f"<{BEYOND[0]}.{BEYOND[1]}"
MEGABYTES = 15_000  # free, before one is made: with its downloads, which pip keeps meanwhile, one takes half of that
SECONDS = 600  # for pip; 70 to 370 were taken
NOTE = "simgpu-torches.json"


class NotHad(Exception):
    """A torch can't be had here, for a reason that isn't simgpu's: the text says which."""


def newest(say: Callable[[str], None]) -> str:
    """Return the newest version of torch in simgpu's range that pip can get; raises `NotHad`.

    One that is newer than the range is said, and not taken: the commit that was green stays it.
    """
    version = _offered(RANGE)
    if numbers(version) < BEYOND:
        return version
    say(f"torch {version} is newer than simgpu is for (simgpu/versions.py): make torches TORCH={version} tries it.")
    return _offered(RANGE + "," + LIMIT)


def _offered(wanted):
    try:
        brought = install_pip.report(sys.executable, ["--ignore-installed", wanted], install_pip.SECONDS_TO_ASK)
    except install_pip.PipFailed as problem:
        raise NotHad(f"pip was asked for {wanted}: {problem}") from problem
    return brought["install"][0]["metadata"]["version"].partition("+")[0]


def folder_of(torch: str) -> Path:
    """Return the folder of the environment for a version of torch, such as "2.11.*": one for each 2.n."""
    if not re.fullmatch(r"\d+\.\d+(\.(\d+|\*))?", torch):
        raise ValueError(f"{torch!r} is no version of torch. Name one in figures, as in: make torches TORCH='2.15.*'")
    return ROOT / "build" / "torches" / ".".join(torch.split(".")[:2])


def environment(torch: str, say: Callable[[str], None]) -> str:
    """Return the Python of the environment for `torch`, which is made where it isn't there; seconds where it is.

    Raises `NotHad` where the network, the disk or torch itself is in the way, `install_pip.PipFailed` where pip can't
    install what we ask for besides torch.
    """
    folder = folder_of(torch)
    python, note = install.python_of(str(folder)), folder / NOTE
    facts = {"torch": torch, "needs": [*packages(), _fingerprint()], "root": str(ROOT), "python": sys.version}
    noted = _noted(note) if install.ask_python(python, "print(1)") else {}
    if noted == facts:
        return python
    if (noted.get("root"), noted.get("python")) != (facts["root"], facts["python"]):
        _room()
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        install.make_venv(str(folder))
    note.unlink(missing_ok=True)  # until it is whole again
    _pip(python, ["--no-compile", f"torch[pyyaml]=={torch}"], f"torch {torch} and all that it brings", say)
    _imported(python, torch)
    _pip(python, ["--no-compile", *packages()], "what simgpu's tests need", say, ours=True)
    _pip(python, ["--no-deps", "--editable", str(ROOT / "simgpu")], "simgpu", say, ours=True)
    note.write_text(json.dumps(facts), encoding="utf-8")
    return python


def packages() -> list[str]:
    """Return the requirements of what simgpu's tests need, in the ranges of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = {re.split(r"[<>=~\[; ]", line)[0]: line for line in project["dependencies"]}
    extras = project["optional-dependencies"]
    requirements |= {re.split(r"[<>=~\[; ]", line)[0]: line for line in [*extras["test"], *extras["long"]]}
    return [requirements[name] for name in NEEDED]


def _noted(note):
    """Return what the note in an environment says, {} where there is none that can be read: it isn't whole then."""
    try:
        return json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _fingerprint():
    return hashlib.sha256(
        b"".join((ROOT / part / "pyproject.toml").read_bytes() for part in (".", "simgpu"))
    ).hexdigest()


def _room():
    free = shutil.disk_usage(ROOT).free // 10**6
    if free < MEGABYTES:
        raise NotHad(f"{free} MB of the disk are free, and {MEGABYTES} MB are wanted before a CUDA build is unpacked")


def _pip(python, wanted, purpose, say, ours=False):
    """Install; raise `NotHad` where pip fails, with `ours` only where the network is the reason.

    `--no-compile` is for what is large: Python writes the bytecode of what it does import.
    """
    try:
        install_pip.run(python, ["install", *wanted], purpose, say, SECONDS)
    except install_pip.PipFailed as problem:
        if ours and not isinstance(problem, install_pip.NetworkGone):
            raise
        raise NotHad(f"{purpose}: {problem}") from problem


def _imported(python, torch):
    """Raise `NotHad` where this torch doesn't even load, without simgpu."""
    command = [python, "-I", "-c", "import torch"]
    alone = os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise NotHad(f"torch {torch} was installed and can't be imported: {done.stderr.strip().splitlines()[-1]}")
