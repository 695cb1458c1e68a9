"""Other graders, installed into an environment of their own, and a cage to run them in with hostile work.

They run students' code as whoever runs them. The cage keeps that from this machine: its own processes, no network, of
the files only the grader's folder and the decoys to be written; within it everything is as installed.
"""

import json
import os
import subprocess
from pathlib import Path

from benchmarks import peers_environment
from tests.slow.attacks.host_watch import decoys

ROOT = peers_environment.ROOT
PLACE = peers_environment.PLACE
PEERS = ("nbgrader", "otter-grader")
PATIENCE = 3600  # seconds for one of them to grade all: nothing it is given may run for ever
DRIVERS = {"nbgrader": "drive_nbgrader.py", "otter-grader": "drive_otter.py"}


def install(say):
    """Install the peers where they aren't yet; return {peer: version}. Raises RuntimeError where one can't be."""
    found = peers_environment.install(say, only=PEERS)
    missing = {peer: found[peer] for peer in PEERS if found[peer]}
    if missing:
        raise RuntimeError(f"these can't be compared with: {missing}")
    versions = peers_environment.versions()
    return {peer: versions[peer] for peer in PEERS}


def scores(peer, assignment, submissions, folder):
    """Return ({submission: {exercise: points}}, what touched a decoy) as `peer` gives them.

    `submissions`: {name: function of the decoys that gives [[exercise, code], …]}; `folder`: an empty one to work in.
    """
    work = Path(folder) / "class"
    work.mkdir()
    with decoys(Path(folder) / "decoys") as host:
        made = {name: build(host) for name, build in submissions.items()}
        (work / "work.json").write_text(json.dumps({**assignment, "submissions": made}))
        command = [peers_environment.PYTHON, Path(__file__).with_name(DRIVERS[peer]), work]
        with (Path(folder) / "said.txt").open("w") as said:
            subprocess.run(_caged(command, work, host.root), stdout=said, stderr=said, timeout=PATIENCE, check=False)
        touched = list(host.seen)
    told = work / "scores.json"
    if not told.exists():
        end = (Path(folder) / "said.txt").read_text()[-3000:]
        raise RuntimeError(f"{peer} gave no scores at all. The end of what it said:\n{end}")
    return json.loads(told.read_text()), touched


def _caged(command, *writable):
    home = writable[0] / "home"
    home.mkdir()
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
    for place in writable:
        words += ["--bind", place, place]
    path = f"{PLACE / 'bin'}{os.pathsep}/usr/local/bin:/usr/bin:/bin"
    words += ["--clearenv", "--setenv", "PATH", path, "--setenv", "HOME", home, "--setenv", "LANG", "C.UTF-8"]
    return [str(word) for word in [*words, "--chdir", writable[0], "--", *command]]
