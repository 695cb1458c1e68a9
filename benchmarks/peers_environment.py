"""The peers' environment, build/peers: what we are compared with is installed there, never beside the course.

`pyproject.toml` lists the packages as the extra `peers`. Each is installed by itself, so that one which can't be had on
this Python or system costs no other; `installed.json` keeps the reason.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from packaging.requirements import Requirement

import install_pip

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "peers"
PYTHON = PLACE / "bin" / "python"
#: What the peers' own programs import besides.
BESIDES = {"numpy": "numpy>=2.0,<3", "ipykernel": "ipykernel>=6,<8"}


def requirements() -> dict[str, str]:
    """Return {package: its range} of the extra `peers` in pyproject.toml, less what its markers exclude here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(line) for line in project["optional-dependencies"]["peers"]]
    return {one.name: f"{one.name}{one.specifier}" for one in wanted if one.marker is None or one.marker.evaluate()}


def found(place: Path = PLACE) -> dict[str, str]:
    """Return {package: "" or why it is missing} of the environment at `place`; {} where there is none."""
    return {name: problem for name, (_, problem) in _note(place).items()}


def install(say: Callable[[str], object], only: Iterable[str] = (), place: Path = PLACE) -> dict[str, str]:
    """Install the peers (`only` these) into `place`, where they aren't yet; return what `found` does.

    One that can't be installed is tried again by the next call. `say` gets a line for each.
    """
    wanted = {name: line for name, line in requirements().items() if not only or name in only}
    wanted = BESIDES | wanted if only else {"torch": install_pip.TORCH, **BESIDES, **wanted}
    note = _note(place)
    missing = {name: line for name, line in wanted.items() if note.get(name) != [line, ""]}
    if not missing:
        return found(place)
    say(f"Installing what we are compared with into {place}: up to some minutes and 3 GB.")
    python = str(place / "bin" / "python")
    if not (place / "bin" / "python").exists():
        note = {}
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
    for name, line in missing.items():
        note[name] = [line, _tried(say, python, name, line)]
        (place / "installed.json").write_text(json.dumps(note, indent=1), encoding="utf-8")
    return found(place)


def _note(place):
    """Return {package: [its range, why it is missing]}."""
    try:
        note = json.loads((place / "installed.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: one for name, one in note.items() if isinstance(one, list) and len(one) == 2}


def _tried(say, python, name, line):
    try:
        if name == "torch":
            install_pip.install_torch(python, False, say)
        else:
            install_pip.run(python, ["install", line], line, say)
        return ""
    except install_pip.PipFailed as problem:
        say(f"Left out: {problem}")
        return str(problem)


def versions(place: Path = PLACE) -> dict[str, str]:
    """Return {package: version} of all that is installed in the environment at `place`."""
    command = [place / "bin" / "python", "-m", "pip", "list", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return {one["name"].lower().replace("_", "-"): one["version"] for one in json.loads(done.stdout)}
