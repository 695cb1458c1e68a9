"""The peers' environment, build/peers: what we are compared with is installed there, never beside the course.

`pyproject.toml` lists the packages as the extra `peers`. Each is installed by itself, so that one which can't be had on
this Python or system costs no other; `installed.json` keeps the reason.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from packaging.requirements import Requirement

import install_pip

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "peers"
PYTHON = PLACE / "bin" / "python"
#: What the peers' own programs import besides: the learner's build of torch, and a kernel for their notebooks.
BESIDES = ("numpy>=2.0,<3", "ipykernel>=6,<8")


def requirements() -> list[str]:
    """Return the extra `peers` of pyproject.toml, less what its markers exclude here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(line) for line in project["optional-dependencies"]["peers"]]
    return [f"{one.name}{one.specifier}" for one in wanted if one.marker is None or one.marker.evaluate()]


def found(place: Path = PLACE) -> dict[str, str]:
    """Return {package: "" or why it is missing} of the environment at `place`; {} where there is none."""
    try:
        return json.loads((place / "installed.json").read_text(encoding="utf-8"))["packages"]
    except (OSError, ValueError, KeyError):
        return {}


def install(say: Callable[[str], object], place: Path = PLACE, wanted: list[str] | None = None) -> dict[str, str]:
    """Install the peers into `place`, where they aren't yet; return what `found` does. `say` gets a line for each."""
    wanted, note = wanted or requirements(), place / "installed.json"
    if note.exists() and json.loads(note.read_text(encoding="utf-8")).get("wanted") == wanted:
        return found(place)
    say(f"installing peers into {place}: some minutes and 3 GB")
    subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
    python = str(place / "bin" / "python")
    packages = {"torch": _tried(say, install_pip.install_torch, python, False, say)}
    for line in [*BESIDES, *wanted]:
        packages[Requirement(line).name] = _tried(say, install_pip.run, python, ["install", line], line, say)
    note.write_text(json.dumps({"wanted": wanted, "packages": packages}, indent=1), encoding="utf-8")
    return packages


def versions(place: Path = PLACE) -> dict[str, str]:
    """Return {package: version} of all that is installed in the environment at `place`."""
    command = [place / "bin" / "python", "-m", "pip", "list", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return {one["name"].lower().replace("_", "-"): one["version"] for one in json.loads(done.stdout)}


def _tried(say, function, *arguments):
    try:
        function(*arguments)
        return ""
    except install_pip.PipFailed as problem:
        say(f"left out: {problem}")
        return str(problem)
